// Attention, in the order in which a token passes through it.
#include "arch/blocks/attention.h"

#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arch/blocks/sparse_index.h"
#include "program/operations.h"

namespace tenon {
namespace {

/// Inputs of attention, [T, .] each.
struct Qkv {
  Slot query = kNoSlot;
  Slot key = kNoSlot;    // none if another layer's cache is read
  Slot value = kNoSlot;  // like key
  Slot gate = kNoSlot;   // may be none
};

/// "attn_q" [2 heads * key_dim, .]: per head the rows of the query, then those of the gate.
void gated_query(BuildContext& context, uint32_t layer, Slot x, Qkv& qkv) {
  const AttentionSpec& spec = context.layer(layer).attention;
  const uint64_t rows = uint64_t{spec.heads} * spec.key_dim;
  const std::string name = context.in_layer(layer, "attn_q.weight");
  const RowSource both =
      context.tensors.tensor(name, {2 * rows, context.model.width}, TensorRole::Matrix);
  const auto project = [&](const char* part, uint64_t kind) {
    return op::linear(context.ops, x,
                      context.tensors.bind(name + part, both.in_turn(kind, 2, spec.key_dim)));
  };
  qkv.query = project(" (query)", 0);
  qkv.gate = project(" (gate)", 1);
}

Qkv separate_qkv(BuildContext& context, uint32_t layer, Slot x) {
  const AttentionSpec& spec = context.layer(layer).attention;
  const auto project = [&](std::string_view name, uint64_t rows) {
    return context.linear(x, context.in_layer(layer, name), rows, context.model.width,
                          spec.qkv_bias);
  };
  Qkv qkv;
  if (spec.output_gate) {
    gated_query(context, layer, x, qkv);
  } else {
    qkv.query = project("attn_q", uint64_t{spec.heads} * spec.key_dim);
  }
  if (spec.cache_of >= 0) return qkv;
  qkv.key = project("attn_k", uint64_t{spec.kv_heads} * spec.key_dim);
  const uint64_t value_rows = uint64_t{spec.kv_heads} * spec.value_dim;
  if (spec.value_may_be_key && spec.value_dim == spec.key_dim) {
    const auto weight =
        context.tensors.optional_tensor(context.in_layer(layer, "attn_v.weight"),
                                        {value_rows, context.model.width}, TensorRole::Matrix);
    if (!weight) {
      qkv.value = qkv.key;
      return qkv;
    }
  }
  qkv.value = project("attn_v", value_rows);
  return qkv;
}

/// Queries, keys and values from one tensor.
Qkv fused_qkv(BuildContext& context, uint32_t layer, Slot x) {
  const AttentionSpec& spec = context.layer(layer).attention;
  const uint64_t query_rows = uint64_t{spec.heads} * spec.key_dim;
  const uint64_t key_rows = uint64_t{spec.kv_heads} * spec.key_dim;
  const uint64_t value_rows = uint64_t{spec.kv_heads} * spec.value_dim;
  const uint64_t all_rows = query_rows + key_rows + value_rows;
  const std::string name = context.in_layer(layer, "attn_qkv");
  TensorBinder& tensors = context.tensors;
  const RowSource weight =
      tensors.tensor(name + ".weight", {all_rows, context.model.width}, TensorRole::Matrix);
  std::optional<RowSource> bias;
  if (spec.qkv_bias == Presence::Required) {
    bias = tensors.tensor(name + ".bias", {all_rows}, TensorRole::Bias);
  } else if (spec.qkv_bias == Presence::Optional) {
    bias = tensors.optional_tensor(name + ".bias", {all_rows}, TensorRole::Bias);
  }
  const auto project = [&](const char* part, uint64_t kind, uint64_t first, uint64_t rows) {
    const Slot own = tensors.bind(
        name + ".weight" + part,
        spec.fused_by_head ? weight.in_turn(kind, 3, spec.key_dim) : weight.rows(first, rows));
    const Slot own_bias =
        bias ? tensors.bind(name + ".bias" + part, bias->columns(first, rows)) : kNoSlot;
    return op::linear(context.ops, x, own, own_bias);
  };
  const Slot query = project(" (q)", 0, 0, query_rows);
  const Slot key = project(" (k)", 1, query_rows, key_rows);
  return {query, key, project(" (v)", 2, query_rows + key_rows, value_rows), kNoSlot};
}

/// "attn_q_norm" [heads, 1], or [heads, key_dim] in older files: a factor for each query head.
Slot with_gain(BuildContext& context, uint32_t layer, Slot query) {
  const AttentionSpec& spec = context.layer(layer).attention;
  const std::string name = context.in_layer(layer, "attn_q_norm.weight");
  const uint64_t columns = context.tensors.columns_of(name).value_or(1) == 1 ? 1 : spec.key_dim;
  const RowSource gains = context.tensors.tensor(name, {spec.heads, columns}, TensorRole::Norm);
  return op::mul(context.ops, query, context.tensors.bind(name, gains.as_row()));
}

Slot head_norm(BuildContext& context, uint32_t layer, Slot x, std::string_view name,
               uint32_t heads) {
  const AttentionSpec& spec = context.layer(layer).attention;
  if (spec.qk_norm == QkNorm::None || x == kNoSlot) return x;
  if (spec.qk_norm == QkNorm::Unweighted) {
    return op::rms_norm(context.ops, x, kNoSlot, spec.qk_norm_epsilon, spec.key_dim);
  }
  const NormSpec norm{name, NormKind::Rms, spec.qk_norm_epsilon};
  const std::string tensor = context.in_layer(layer, name);
  if (spec.qk_norm == QkNorm::EachHead) {
    return context.norm(x, tensor, norm, spec.key_dim, spec.key_dim);
  }
  if (spec.qk_norm == QkNorm::MayBeEachHead) {
    const Slot weight =
        context.tensors.optional_weight(tensor + ".weight", {spec.key_dim}, TensorRole::Norm);
    return weight == kNoSlot ? x : op::rms_norm(context.ops, x, weight, norm.epsilon, spec.key_dim);
  }
  if (spec.qk_norm == QkNorm::RmsOfHead || spec.qk_norm == QkNorm::LayerOfHead) {
    const RowSource weights =
        context.tensors.tensor(tensor + ".weight", {heads, spec.key_dim}, TensorRole::Norm);
    const Slot normed =
        spec.qk_norm == QkNorm::RmsOfHead
            ? op::rms_norm(context.ops, x, kNoSlot, norm.epsilon, spec.key_dim)
            : op::layer_norm(context.ops, x, kNoSlot, kNoSlot, norm.epsilon, spec.key_dim);
    const Slot scaled =
        op::mul(context.ops, normed, context.tensors.bind(tensor + ".weight", weights.as_row()));
    if (spec.qk_norm == QkNorm::RmsOfHead) return scaled;
    const auto biases =
        context.tensors.optional_tensor(tensor + ".bias", {heads, spec.key_dim}, TensorRole::Bias);
    return biases ? op::add(context.ops, scaled,
                            context.tensors.bind(tensor + ".bias", biases->as_row()))
                  : scaled;
  }
  if (spec.qk_norm == QkNorm::GainOfQuery) {
    const Slot normed = op::rms_norm(context.ops, x, kNoSlot, norm.epsilon, spec.key_dim);
    return name == "attn_q_norm" ? with_gain(context, layer, normed) : normed;
  }
  return context.norm(x, tensor, norm, uint64_t{heads} * spec.key_dim);
}

/// Applies norms, rotation and position scale to queries and keys.
void position(BuildContext& context, uint32_t layer, Qkv& qkv) {
  const AttentionSpec& spec = context.layer(layer).attention;
  const auto normalise = [&] {
    qkv.query = head_norm(context, layer, qkv.query, "attn_q_norm", spec.heads);
    qkv.key = head_norm(context, layer, qkv.key, "attn_k_norm", spec.kv_heads);
  };
  if (!spec.rope_before_norm) normalise();
  if (const Slot angles = context.angles(layer); angles != kNoSlot) {
    qkv.query = op::rope(context.ops, qkv.query, angles, spec.rope.style, spec.key_dim);
    if (qkv.key != kNoSlot) {
      qkv.key = op::rope(context.ops, qkv.key, angles, spec.rope.style, spec.key_dim);
    }
  }
  if (spec.rope_before_norm) normalise();
  qkv.query = scaled_by_position(context, layer, qkv.query);
}

}  // namespace

Slot scaled_by_position(BuildContext& context, uint32_t layer, Slot query) {
  const PositionScale& spec = context.layer(layer).attention.query_scale;
  if (spec.scale == 0.0f) return query;
  return op::position_scale(context.ops, query, spec.scale, spec.length, spec.offset);
}

AttentionOptions attention_options(const BuildContext& context, uint32_t layer) {
  const AttentionSpec& spec = context.layer(layer).attention;
  AttentionOptions options;
  options.group = context.cache(layer).group;
  options.layer = context.cache(layer).layer;
  options.heads = spec.heads;
  options.scale = spec.scale;
  options.soft_cap = spec.soft_cap;
  options.window = spec.window;
  options.mask = spec.mask;
  return options;
}

namespace {

/// Slope of head h: 2^(-8 (h + 1) / heads). Between powers of two, the rest are every second slope
/// for twice as many heads.
std::vector<double> alibi_slopes(uint32_t heads) {
  const uint32_t whole = std::bit_floor(heads);
  std::vector<double> slopes;
  for (uint32_t head = 0; head < heads; ++head) {
    const double turn =
        head < whole ? (head + 1.0) / whole : (2.0 * (head - whole) + 1.0) / (2.0 * whole);
    slopes.push_back(std::exp2(-8.0 * turn));
  }
  return slopes;
}

}  // namespace

void add_attention_caches(BuildContext& context, uint32_t layer) {
  const AttentionSpec& spec = context.layer(layer).attention;
  if (spec.heads == 0) return;
  if (spec.cache_of >= 0) {
    context.share_cache(layer, kAttentionCache, static_cast<uint32_t>(spec.cache_of));
    return;
  }
  if (!spec.specs.has_mixer()) {
    CacheGroup group;
    group.type = context.options.cache_type;
    group.block_tokens = context.options.block_tokens;
    group.kv_heads = spec.kv_heads;
    group.key_dim = spec.key_dim;
    group.value_dim = spec.value_dim;
    if (spec.window > 0 && spec.mask != TENON_MASK_SYMMETRIC) {
      group.kind = TENON_CACHE_WINDOW;
      group.window = spec.window;
    }
    context.add_cache(layer, kAttentionCache, group);
  }
  for (const BlockSpec& one : spec.specs) one.add_caches(context, layer);
}

Slot attention_block(BuildContext& context, uint32_t layer, Slot x) {
  const AttentionSpec& spec = context.layer(layer).attention;
  const bool fused =
      spec.fused_qkv || (!spec.output_gate && spec.cache_of < 0 &&
                         context.tensors.has(context.in_layer(layer, "attn_qkv.weight")));
  Qkv qkv = fused ? fused_qkv(context, layer, x) : separate_qkv(context, layer, x);
  for (Slot* part : {&qkv.query, &qkv.key, &qkv.value}) {
    *part = context.clamped(*part, spec.qkv_clamp);
  }
  if (spec.value_norm && qkv.value != kNoSlot) {
    qkv.value = op::rms_norm(context.ops, qkv.value, kNoSlot, spec.qk_norm_epsilon, spec.value_dim);
  }
  position(context, layer, qkv);
  AttentionOptions options = attention_options(context, layer);
  if (const auto* index = spec.specs.find<IndexSpec>()) {
    const bool by_means = index->kind == IndexKind::Means;
    const auto select = by_means ? select_by_means : select_blocks;
    select(context, layer, x).put_into(options);
  }
  if (qkv.key != kNoSlot) {
    op::kv_write(context.ops, qkv.key, qkv.value, options.group, options.layer);
  }
  if (spec.alibi) {
    options.bias = TENON_BIAS_ALIBI;
    options.bias_values = context.ops.constant("slopes", alibi_slopes(spec.heads));
  }
  options.sinks = attention_sinks(context, layer);
  Slot attended = op::attention(context.ops, qkv.query, options);
  if (qkv.gate != kNoSlot) attended = op::sigmoid_gate(context.ops, attended, qkv.gate);
  attended = context.scaled(gated_by_input(context, layer, x, attended), spec.attended_scale);
  return attention_output(context, layer, attended, uint64_t{spec.heads} * spec.value_dim);
}

Slot attention_sinks(BuildContext& context, uint32_t layer) {
  const AttentionSpec& spec = context.layer(layer).attention;
  const std::string name = context.in_layer(layer, "attn_sinks.weight");
  switch (spec.sinks) {
    case Presence::Absent:
      return kNoSlot;
    case Presence::Optional:
      return context.tensors.optional_weight(name, {spec.heads}, TensorRole::Bias);
    case Presence::Required:
      return context.tensors.weight(name, {spec.heads}, TensorRole::Bias);
  }
  return kNoSlot;
}

Slot gated_by_input(BuildContext& context, uint32_t layer, Slot x, Slot attended) {
  const OutputGateSpec& spec = context.layer(layer).attention.gate;
  if (spec.columns == 0) return attended;
  const Slot gate =
      context.linear(x, context.in_layer(layer, "attn_gate"), spec.columns, context.model.width);
  if (spec.activation == TENON_ACTIVATION_SIGMOID)
    return op::sigmoid_gate(context.ops, attended, gate);
  return op::mul(context.ops, attended, op::activate(context.ops, spec.activation, gate));
}

Slot attention_output(BuildContext& context, uint32_t layer, Slot attended, uint64_t columns) {
  const AttentionSpec& spec = context.layer(layer).attention;
  Slot x = context.wanted_rows(layer, attended);
  if (const NormSpec& norm = spec.attended_norm; !norm.name.empty()) {
    x = context.norm(x, context.in_layer(layer, norm.name), norm, columns);
  }
  return context.linear(x, context.in_layer(layer, "attn_output"), context.model.width, columns,
                        spec.output_bias);
}

}  // namespace tenon
