// Attention, in the order in which a token passes through it.
#include "arch/attention.h"

#include <optional>
#include <string>
#include <string_view>

namespace tenon {
namespace {

/// What attention computes with, [T, .] each.
struct Qkv {
  Slot query;
  Slot key;
  Slot value;
};

Qkv separate_qkv(BuildContext& context, uint32_t layer, Slot x) {
  const AttentionSpec& spec = context.layer(layer).attention;
  const auto project = [&](std::string_view name, uint64_t rows) {
    return context.linear(x, BuildContext::in_layer(layer, name), rows, context.model.width,
                          spec.qkv_bias);
  };
  const Slot query = project("attn_q", uint64_t{spec.heads} * spec.key_dim);
  const Slot key = project("attn_k", uint64_t{spec.kv_heads} * spec.key_dim);
  return {query, key, project("attn_v", uint64_t{spec.kv_heads} * spec.value_dim)};
}

/// One tensor of the rows of all three.
Qkv fused_qkv(BuildContext& context, uint32_t layer, Slot x) {
  const AttentionSpec& spec = context.layer(layer).attention;
  const uint64_t query_rows = uint64_t{spec.heads} * spec.key_dim;
  const uint64_t key_rows = uint64_t{spec.kv_heads} * spec.key_dim;
  const uint64_t value_rows = uint64_t{spec.kv_heads} * spec.value_dim;
  const uint64_t all_rows = query_rows + key_rows + value_rows;
  const std::string name = BuildContext::in_layer(layer, "attn_qkv");
  TensorBinder& tensors = context.tensors;
  const RowSource weight =
      tensors.tensor(name + ".weight", {all_rows, context.model.width}, TensorRole::Matrix);
  std::optional<RowSource> bias;
  if (spec.qkv_bias == Presence::Required) {
    bias = tensors.tensor(name + ".bias", {all_rows}, TensorRole::Bias);
  } else if (spec.qkv_bias == Presence::Optional) {
    bias = tensors.optional_tensor(name + ".bias", {all_rows}, TensorRole::Bias);
  }
  const auto project = [&](const char* part, uint64_t first, uint64_t rows) {
    const Slot own = tensors.bind(name + ".weight" + part, weight.rows(first, rows));
    const Slot own_bias =
        bias ? tensors.bind(name + ".bias" + part, bias->columns(first, rows)) : kNoSlot;
    return context.ops.linear(x, own, own_bias);
  };
  const Slot query = project(" (q)", 0, query_rows);
  const Slot key = project(" (k)", query_rows, key_rows);
  return {query, key, project(" (v)", query_rows + key_rows, value_rows)};
}

Slot head_norm(BuildContext& context, uint32_t layer, Slot x, std::string_view name,
               uint32_t heads) {
  const AttentionSpec& spec = context.layer(layer).attention;
  if (spec.qk_norm == QkNorm::None) return x;
  const NormSpec norm{name, NormKind::Rms, spec.qk_norm_epsilon};
  const std::string tensor = BuildContext::in_layer(layer, name);
  if (spec.qk_norm == QkNorm::EachHead) {
    return context.norm(x, tensor, norm, spec.key_dim, spec.key_dim);
  }
  return context.norm(x, tensor, norm, uint64_t{heads} * spec.key_dim);
}

}  // namespace

Slot attention(BuildContext& context, uint32_t layer, Slot x) {
  const AttentionSpec& spec = context.layer(layer).attention;
  Qkv qkv = spec.fused_qkv ? fused_qkv(context, layer, x) : separate_qkv(context, layer, x);
  const auto normalise = [&] {
    qkv.query = head_norm(context, layer, qkv.query, "attn_q_norm", spec.heads);
    qkv.key = head_norm(context, layer, qkv.key, "attn_k_norm", spec.kv_heads);
  };
  if (!spec.rope_before_norm) normalise();
  if (const Slot angles = context.angles(layer); angles != kNoSlot) {
    qkv.query = context.ops.rope(qkv.query, angles, spec.rope.style, spec.key_dim);
    qkv.key = context.ops.rope(qkv.key, angles, spec.rope.style, spec.key_dim);
  }
  if (spec.rope_before_norm) normalise();
  const BuildContext::CachePlace cache = context.cache(layer);
  context.ops.kv_write(qkv.key, qkv.value, cache.group, cache.layer);
  AttentionOptions options;
  options.group = cache.group;
  options.layer = cache.layer;
  options.heads = spec.heads;
  options.scale = spec.scale;
  options.soft_cap = spec.soft_cap;
  options.window = spec.window;
  return context.ops.attention(qkv.query, options);
}

Slot attention_output(BuildContext& context, uint32_t layer, Slot attended) {
  const AttentionSpec& spec = context.layer(layer).attention;
  return context.linear(attended, BuildContext::in_layer(layer, "attn_output"), context.model.width,
                        uint64_t{spec.heads} * spec.value_dim, spec.output_bias);
}

}  // namespace tenon
