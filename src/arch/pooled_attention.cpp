// Attention to positions and pools, in the order in which a token passes through it.
#include "arch/pooled_attention.h"

#include <string>

#include "arch/attention.h"

namespace tenon {
namespace {

/// What makes rows of pools, and where they are kept.
struct Pooling {
  std::string prefix;  ///< of the names of its tensors: "attn_compressor_"
  uint32_t columns;    ///< of a row
  BuildContext::CachePlace raw;
  BuildContext::CachePlace rows;
};

class PooledAttention {
 public:
  PooledAttention(BuildContext& context, uint32_t layer)
      : context_(context),
        ops_(context.ops),
        layer_(layer),
        spec_(context.layer(layer).attention) {}

  Slot build(Slot x) {
    const Slot source = normed(linear(x, "attn_q_a", spec_.pools.query_rank, width()),
                               "attn_q_a_norm", spec_.pools.query_rank);
    const Slot heads = linear(source, "attn_q_b", head_values(), spec_.pools.query_rank);
    const Slot query = rotated(ops_.rms_norm(heads, kNoSlot, spec_.qk_norm_epsilon, spec_.key_dim),
                               context_.angles(layer_), spec_.key_dim);
    const Slot row = rotated(
        normed(linear(x, "attn_kv", spec_.key_dim, width()), "attn_kv_a_norm", spec_.key_dim),
        context_.angles(layer_), spec_.key_dim);
    const auto [group, place] = context_.cache(layer_);
    ops_.kv_write(row, kNoSlot, group, place);
    const Slot attended = spec_.pools.stride == 0 ? attend(query) : attend_pools(query, x, source);
    return output(rotated(attended, context_.angles_back(layer_), spec_.key_dim));
  }

 private:
  [[nodiscard]] uint64_t width() const { return context_.model.width; }
  [[nodiscard]] uint64_t head_values() const { return uint64_t{spec_.heads} * spec_.key_dim; }
  [[nodiscard]] std::string name(const std::string& tensor) const {
    return BuildContext::in_layer(layer_, tensor);
  }
  Slot linear(Slot x, const std::string& tensor, uint64_t rows, uint64_t columns) {
    return context_.linear(x, name(tensor), rows, columns);
  }
  Slot normed(Slot x, const std::string& tensor, uint64_t columns) {
    return context_.norm(x, name(tensor), {tensor, NormKind::Rms, spec_.qk_norm_epsilon}, columns);
  }
  /// The last values of each head.
  Slot rotated(Slot x, Slot angles, uint32_t head_dim) {
    if (angles == kNoSlot) return x;
    return ops_.rope(x, angles, spec_.rope.style, head_dim, head_dim - spec_.rope.dimensions);
  }

  Slot attend(Slot query) {
    AttentionOptions options = attention_options(context_, layer_);
    options.sinks = attention_sinks(context_, layer_);
    return ops_.attention(query, options);
  }

  Slot attend_pools(Slot query, Slot x, Slot source) {
    const BuildContext::CachePlace positions = context_.cache(layer_);
    const BuildContext::CachePlace rows = context_.row_cache(layer_);
    write_pools(x, {"attn_compressor_", spec_.key_dim, context_.raw_cache(layer_), rows});
    return ops_.attention_pools(query, {.group = positions.group,
                                        .layer = positions.layer,
                                        .heads = spec_.heads,
                                        .window = spec_.window,
                                        .scale = spec_.scale,
                                        .pool_group = rows.group,
                                        .pool_layer = rows.layer,
                                        .sinks = attention_sinks(context_, layer_),
                                        .selection = chosen(x, source)});
  }

  void write_pools(Slot x, const Pooling& pooling) {
    const PoolSpec& pools = spec_.pools;
    const uint64_t columns = uint64_t{pooling.columns} * (pools.overlap ? 2 : 1);
    const Slot values = linear(x, pooling.prefix + "kv", columns, width());
    ops_.kv_write(values, linear(x, pooling.prefix + "gate", columns, width()), pooling.raw.group,
                  pooling.raw.layer);
    const Slot places = context_.tensors.weight(name(pooling.prefix + "ape.weight"),
                                                {pools.stride, columns}, TensorRole::Bias);
    const Slot row = ops_.compress(places, {.group = pooling.raw.group,
                                            .layer = pooling.raw.layer,
                                            .stride = pools.stride,
                                            .overlap = pools.overlap});
    const Slot turned = rotated(normed(row, pooling.prefix + "norm", pooling.columns),
                                context_.angles_before(layer_, pools.stride - 1), pooling.columns);
    ops_.kv_write(turned, kNoSlot, pooling.rows.group, pooling.rows.layer);
  }

  /// The pools that an index chooses; kNoSlot without one.
  Slot chosen(Slot x, Slot source) {
    const IndexSpec& index = spec_.index;
    if (index.count == 0) return kNoSlot;
    const auto [group, place] = context_.index_cache(layer_);
    write_pools(x, {"indexer_compressor_", index.key_dim, context_.pool_cache(layer_),
                    context_.index_cache(layer_)});
    const Slot query =
        rotated(linear(source, "indexer.attn_q_b", uint64_t{index.heads} * index.key_dim,
                       spec_.pools.query_rank),
                context_.angles(layer_), index.key_dim);
    const Slot weights = linear(x, "indexer.proj", index.heads, width());
    return ops_.select(query, weights, {group, place, index.heads, index.count});
  }

  Slot output(Slot attended) {
    const PoolSpec& pools = spec_.pools;
    const uint64_t rank = uint64_t{pools.output_groups} * pools.output_rank;
    const Slot matrices =
        context_.tensors.weight(name("attn_output_a.weight"),
                                {rank, head_values() / pools.output_groups}, TensorRole::Matrix);
    const Slot low =
        ops_.linear_heads(context_.wanted_rows(layer_, attended), matrices, pools.output_groups);
    return linear(low, "attn_output_b", width(), rank);
  }

  BuildContext& context_;
  ProgramBuilder& ops_;
  const uint32_t layer_;
  const AttentionSpec& spec_;
};

}  // namespace

Slot pooled_attention(BuildContext& context, uint32_t layer, Slot x) {
  return PooledAttention(context, layer).build(x);
}

}  // namespace tenon
