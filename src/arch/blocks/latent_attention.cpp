// Latent attention, in the order in which a token passes through it.
#include "arch/blocks/latent_attention.h"

#include <string>
#include <vector>

#include "arch/blocks/attention.h"
#include "arch/blocks/sparse_index.h"
#include "program/operations.h"

namespace tenon {
namespace {

const LatentSpec& latent_of(const AttentionSpec& spec) { return spec.specs.get<LatentSpec>(); }

/// Values of a query head without rotation, compared with latent rows.
uint32_t plain_dim(const AttentionSpec& spec) { return spec.key_dim - latent_of(spec).rope_dim; }

/// [T, query_rank]: source of the queries, or x.
Slot query_source(BuildContext& context, uint32_t layer, Slot x) {
  const AttentionSpec& spec = context.layer(layer).attention;
  const auto name = [&](const char* tensor) { return context.in_layer(layer, tensor); };
  const uint32_t rank = latent_of(spec).query_rank;
  if (rank == 0) return x;
  const NormSpec norm{"attn_q_a_norm", NormKind::Rms, spec.qk_norm_epsilon};
  return context.norm(context.linear(x, name("attn_q_a"), rank, context.model.width),
                      name("attn_q_a_norm"), norm, rank);
}

/// [T, heads * key_dim]: per head plain_dim values, then the rotated ones.
Slot queries(BuildContext& context, uint32_t layer, Slot source) {
  const AttentionSpec& spec = context.layer(layer).attention;
  const uint64_t rows = uint64_t{spec.heads} * spec.key_dim;
  const uint32_t rank = latent_of(spec).query_rank;
  return context.linear(source, context.in_layer(layer, rank == 0 ? "attn_q" : "attn_q_b"), rows,
                        rank == 0 ? context.model.width : rank);
}

/// Cache rows [rank + rope_dim]: the normalised latent, then the rotated part of the key, if any.
Slot latent_rows(BuildContext& context, uint32_t layer, Slot x) {
  const AttentionSpec& spec = context.layer(layer).attention;
  const uint32_t rank = latent_of(spec).rank;
  const uint32_t all = rank + latent_of(spec).rope_dim;
  const std::string name = context.in_layer(layer, "attn_kv_a_mqa.weight");
  const RowSource both =
      context.tensors.tensor(name, {all, context.model.width}, TensorRole::Matrix);
  const NormSpec norm{"attn_kv_a_norm", NormKind::Rms, spec.qk_norm_epsilon};
  if (latent_of(spec).rope_dim == 0) {
    return context.norm(op::linear(context.ops, x, context.tensors.bind(name, both)),
                        context.in_layer(layer, norm.name), norm, rank);
  }
  const Slot latent = context.norm(
      op::linear(context.ops, x, context.tensors.bind(name + " (latent)", both.rows(0, rank))),
      context.in_layer(layer, norm.name), norm, rank);
  const Slot key = op::linear(
      context.ops, x,
      context.tensors.bind(name + " (rotated)", both.rows(rank, latent_of(spec).rope_dim)));
  return op::concat(context.ops, latent, key);
}

/// Matrices that map each head's plain query into the latent space, [heads * rank, plain_dim], and
/// the attended latent back, [heads * value_dim, rank].
struct HeadMatrices {
  Slot key;
  Slot value;
};

HeadMatrices split_matrices(BuildContext& context, uint32_t layer) {
  const AttentionSpec& spec = context.layer(layer).attention;
  const auto weight = [&](const char* name, uint64_t rows, uint64_t columns) {
    return context.tensors.weight(context.in_layer(layer, name), {spec.heads, rows, columns},
                                  TensorRole::Matrix);
  };
  const Slot key = weight("attn_k_b.weight", latent_of(spec).rank, plain_dim(spec));
  return {key, weight("attn_v_b.weight", spec.value_dim, latent_of(spec).rank)};
}

/// "attn_kv_b" [heads * (plain_dim + value_dim), rank]: per head the transpose of its key matrix,
/// then its value matrix.
HeadMatrices fused_matrices(BuildContext& context, uint32_t layer) {
  const AttentionSpec& spec = context.layer(layer).attention;
  const uint64_t plain = plain_dim(spec);
  const uint64_t rows = plain + spec.value_dim;
  const std::string name = context.in_layer(layer, "attn_kv_b.weight");
  const RowSource both =
      context.tensors.tensor(name, {spec.heads * rows, latent_of(spec).rank}, TensorRole::Matrix);
  const RowSource turned = both.decoded().transposed();
  std::vector<RowSource> keys, values;
  for (uint64_t head = 0; head < spec.heads; ++head) {
    keys.push_back(turned.columns(head * rows, plain));
    values.push_back(both.rows(head * rows + plain, spec.value_dim));
  }
  const Slot key = context.tensors.bind(name + " (k)", RowSource::stacked(keys));
  return {key, context.tensors.bind(name + " (v)", RowSource::stacked(values))};
}

}  // namespace

void LatentSpec::add_caches(BuildContext& context, uint32_t layer) const {
  context.add_cache(layer, kAttentionCache, context.latent_group(rank + rope_dim, rank));
}

Slot LatentSpec::build(BuildContext& context, uint32_t layer, Slot x) const {
  const AttentionSpec& spec = context.layer(layer).attention;
  ProgramBuilder& ops = context.ops;
  const Slot source = query_source(context, layer, x);
  const Selection selection = spec.specs.find<IndexSpec>() == nullptr
                                  ? Selection{}
                                  : select_positions(context, layer, x, source);
  Slot query = queries(context, layer, source);
  Slot row = latent_rows(context, layer, x);
  if (const Slot angles = context.angles(layer); angles != kNoSlot) {
    query = op::rope(ops, query, angles, spec.rope.style, spec.key_dim, plain_dim(spec));
    row = op::rope(ops, row, angles, spec.rope.style, rank + rope_dim, rank);
  }
  query = scaled_by_position(context, layer, query);
  const HeadMatrices matrices =
      fused ? fused_matrices(context, layer) : split_matrices(context, layer);
  Slot absorbed;
  if (rope_dim == 0) {
    absorbed = op::linear_heads(ops, query, matrices.key, spec.heads);
  } else {
    const Slot plain = op::slice(ops, query, spec.key_dim, 0, plain_dim(spec));
    const Slot rotated = op::slice(ops, query, spec.key_dim, plain_dim(spec), rope_dim);
    absorbed = op::concat(ops, op::linear_heads(ops, plain, matrices.key, spec.heads), rotated,
                          spec.heads);
  }
  AttentionOptions options = attention_options(context, layer);
  options.sinks = attention_sinks(context, layer);
  selection.put_into(options);
  op::kv_write(ops, row, kNoSlot, options.group, options.layer);
  const Slot attended =
      op::linear_heads(ops, op::attention(ops, absorbed, options), matrices.value, spec.heads);
  return attention_output(context, layer, gated_by_input(context, layer, x, attended),
                          uint64_t{spec.heads} * spec.value_dim);
}

}  // namespace tenon
