// Attention to positions and pools, in the order in which a token passes through it.
#include "arch/blocks/pooled_attention.h"

#include <string>

#include "arch/blocks/attention.h"
#include "program/operations.h"

namespace tenon {
namespace {

/// Tensors that make rows of pools, and the place of the rows.
struct Pooling {
  std::string prefix;  ///< prefix of its tensors' names: "attn_compressor_"
  uint32_t columns;    ///< columns of a row
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
    const Slot query =
        rotated(spec_.pools.query_norm
                    ? op::rms_norm(ops_, heads, kNoSlot, spec_.qk_norm_epsilon, spec_.key_dim)
                    : heads,
                context_.angles(layer_), spec_.key_dim);
    const Slot row = rotated(
        normed(linear(x, "attn_kv", spec_.key_dim, width()), "attn_kv_a_norm", spec_.key_dim),
        context_.angles(layer_), spec_.key_dim);
    const Slot kept = rounded(row, TENON_ROUND_FP8, 32, spec_.key_dim);
    const auto [group, place] = context_.cache(layer_);
    op::kv_write(ops_, kept, kNoSlot, group, place);
    const Slot attended = spec_.pools.stride == 0 ? attend(query) : attend_pools(query, x, source);
    return output(rotated(attended, context_.angles_back(layer_), spec_.key_dim));
  }

 private:
  [[nodiscard]] uint64_t width() const { return context_.model.width; }
  [[nodiscard]] uint64_t head_values() const { return uint64_t{spec_.heads} * spec_.key_dim; }
  [[nodiscard]] std::string name(const std::string& tensor) const {
    return context_.in_layer(layer_, tensor);
  }
  Slot linear(Slot x, const std::string& tensor, uint64_t rows, uint64_t columns) {
    return context_.linear(x, name(tensor), rows, columns);
  }
  Slot normed(Slot x, const std::string& tensor, uint64_t columns) {
    return context_.norm(x, name(tensor), {tensor, NormKind::Rms, spec_.qk_norm_epsilon}, columns);
  }
  /// Rotates the last values of each head.
  Slot rotated(Slot x, Slot angles, uint32_t head_dim) {
    if (angles == kNoSlot) return x;
    return op::rope(ops_, x, angles, spec_.rope.style, head_dim, head_dim - spec_.rope.dimensions);
  }

  /// Rounds to few bits if a row is whole blocks, as in the published code.
  Slot rounded(Slot x, uint32_t format, uint32_t block, uint32_t columns) {
    return spec_.pools.rounded && columns % block == 0 ? op::round(ops_, x, format, block) : x;
  }

  Slot attend(Slot query) {
    AttentionOptions options = attention_options(context_, layer_);
    options.sinks = attention_sinks(context_, layer_);
    return op::attention(ops_, query, options);
  }

  Slot attend_pools(Slot query, Slot x, Slot source) {
    const BuildContext::CachePlace positions = context_.cache(layer_);
    const BuildContext::CachePlace rows = context_.cache(layer_, "rows");
    if (spec_.pools.rows_of < 0) {
      const Pooling pooling{"attn_compressor_", spec_.key_dim,
                            spec_.pools.pools_positions() ? context_.cache(layer_, "positions")
                                                          : BuildContext::CachePlace{},
                            rows};
      const Slot made = pooled(x, pooling);
      write(rounded(turned_as_first(made, spec_.key_dim), TENON_ROUND_FP4_FP8, 16, spec_.key_dim),
            rows);
      if (spec_.index.kind == IndexKind::LinearRows) write_keys(made);
    }
    return op::attention_pools(ops_, query,
                               {.group = positions.group,
                                .layer = positions.layer,
                                .heads = spec_.heads,
                                .window = spec_.window,
                                .scale = spec_.scale,
                                .pool_group = rows.group,
                                .pool_layer = rows.layer,
                                .sinks = attention_sinks(context_, layer_),
                                .selection = chosen(x, source)});
  }

  void write(Slot row, const BuildContext::CachePlace& place) {
    op::kv_write(ops_, row, kNoSlot, place.group, place.layer);
  }

  /// Rotates a pool's row, which its last token completes, like the pool's first position.
  Slot turned_as_first(Slot row, uint32_t columns) {
    return rotated(row, context_.angles_before(layer_, spec_.pools.stride - 1), columns);
  }

  /// Unrotated rows of pools, [T, columns], at tokens that end a pool.
  Slot pooled(Slot x, const Pooling& pooling) {
    const PoolSpec& pools = spec_.pools;
    const uint64_t columns = uint64_t{pooling.columns} * (pools.overlap ? 2 : 1);
    const std::string matrix = name(pooling.prefix + "kv.weight");
    const RowSource rows = context_.tensors.tensor(matrix, {columns, width()}, TensorRole::Matrix);
    Slot row = op::linear(ops_, x, context_.tensors.bind(matrix, rows));
    if (pools.pools_positions()) {
      op::kv_write(ops_, row, linear(x, pooling.prefix + "gate", columns, width()),
                   pooling.raw.group, pooling.raw.layer);
      const std::string bias = name(pooling.prefix + "ape.weight");
      const Slot places =
          pools.place_bias
              ? context_.tensors.weight(bias, {pools.stride, columns}, TensorRole::Bias)
              : context_.tensors.bind(bias, rows.rows(0, pools.stride).filled(columns, 0.0f));
      row = op::compress(ops_, places,
                         {.group = pooling.raw.group,
                          .layer = pooling.raw.layer,
                          .stride = pools.stride,
                          .overlap = pools.overlap});
    }
    return normed(row, pooling.prefix + "norm", pooling.columns);
  }

  /// Writes the index's keys of rows [T, key_dim].
  void write_keys(Slot rows) {
    const IndexSpec& index = spec_.index;
    const Slot key = normed(linear(rows, "indexer.attn_k", index.key_dim, spec_.key_dim),
                            "indexer.k_norm", index.key_dim);
    write(rounded(turned_as_first(key, index.key_dim), TENON_ROUND_FP4, 32, index.key_dim),
          context_.cache(layer_, "index"));
  }

  /// Pools selected by the index; kNoSlot without an index.
  Slot chosen(Slot x, Slot source) {
    const IndexSpec& index = spec_.index;
    if (index.count == 0) return kNoSlot;
    if (index.shared) return context_.shared("pool selection");
    const auto [group, place] = context_.cache(layer_, "index");
    if (index.kind == IndexKind::Rows) {
      const Pooling pooling{"indexer_compressor_", index.key_dim,
                            context_.cache(layer_, "index positions"),
                            context_.cache(layer_, "index")};
      write(turned_as_first(pooled(x, pooling), index.key_dim), pooling.rows);
    }
    const Slot query =
        rounded(rotated(linear(source, "indexer.attn_q_b", uint64_t{index.heads} * index.key_dim,
                               spec_.pools.query_rank),
                        context_.angles(layer_), index.key_dim),
                TENON_ROUND_FP4, 32, index.key_dim);
    const Slot weights = linear(x, "indexer.proj", index.heads, width());
    const SelectWithinOptions blocks{group, place, index.heads, index.candidate_blocks,
                                     index.candidate_block};
    if (index.candidate_blocks > 0 && !index.finds_candidates) {
      SelectWithinOptions within = blocks;
      within.count = index.count;
      return context_.shared("pool selection") = op::select_within(
                 ops_, query, weights, context_.shared("pool candidates"), within);
    }
    if (index.finds_candidates) {
      context_.shared("pool candidates") = op::select_candidates(ops_, query, weights, blocks);
    }
    return context_.shared("pool selection") =
               op::select(ops_, query, weights, {group, place, index.heads, index.count});
  }

  Slot output(Slot attended) {
    const PoolSpec& pools = spec_.pools;
    const uint64_t rank = uint64_t{pools.output_groups} * pools.output_rank;
    const Slot matrices =
        context_.tensors.weight(name("attn_output_a.weight"),
                                {rank, head_values() / pools.output_groups}, TensorRole::Matrix);
    const Slot low = op::linear_heads(ops_, context_.wanted_rows(layer_, attended), matrices,
                                      pools.output_groups);
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
