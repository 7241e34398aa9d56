// Attention to positions and pools, in the order in which a token passes through it.
#include "arch/blocks/pooled_attention.h"

#include <string>
#include <string_view>

#include "arch/blocks/attention.h"
#include "arch/blocks/sparse_index.h"
#include "program/operations.h"

namespace tenon {
namespace {

// Caches: rows of pools, positions that are not pooled yet, and both for the keys of the index.
constexpr std::string_view kPoolRows = "pool rows";
constexpr std::string_view kUnpooledRows = "pool positions";
constexpr std::string_view kPoolKeys = "pool keys";
constexpr std::string_view kUnpooledPoolKeys = "pool key positions";

// Slots for later layers: [T, count] and [T, blocks].
constexpr std::string_view kPoolSelection = "pool selection";
constexpr std::string_view kPoolCandidates = "pool candidates";

/// Tensors that make rows of pools, and the cache of positions that are not pooled yet.
struct Pooling {
  std::string prefix;  ///< prefix of its tensors' names: "attn_compressor_"
  uint32_t columns;    ///< columns of a row
  std::string_view unpooled;
};

class PooledAttention {
 public:
  PooledAttention(BuildContext& context, uint32_t layer, const PoolSpec& pools)
      : context_(context),
        ops_(context.ops),
        layer_(layer),
        spec_(context.layer(layer).attention),
        pools_(pools) {}

  Slot build(Slot x) {
    const Slot source = normed(linear(x, "attn_q_a", pools_.query_rank, width()), "attn_q_a_norm",
                               pools_.query_rank);
    const Slot heads = linear(source, "attn_q_b", head_values(), pools_.query_rank);
    const Slot query = rotated(
        pools_.query_norm ? op::rms_norm(ops_, heads, kNoSlot, spec_.qk_norm_epsilon, spec_.key_dim)
                          : heads,
        context_.angles(layer_), spec_.key_dim);
    const Slot row = rotated(
        normed(linear(x, "attn_kv", spec_.key_dim, width()), "attn_kv_a_norm", spec_.key_dim),
        context_.angles(layer_), spec_.key_dim);
    const Slot kept = rounded(row, TENON_ROUND_FP8, 32, spec_.key_dim);
    write(kept, kAttentionCache);
    const Slot attended = pools_.stride == 0 ? attend(query) : attend_pools(query, x, source);
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
    return pools_.rounded && columns % block == 0 ? op::round(ops_, x, format, block) : x;
  }

  Slot attend(Slot query) {
    AttentionOptions options = attention_options(context_, layer_);
    options.sinks = attention_sinks(context_, layer_);
    return op::attention(ops_, query, options);
  }

  Slot attend_pools(Slot query, Slot x, Slot source) {
    const BuildContext::CachePlace positions = context_.cache(layer_);
    const BuildContext::CachePlace rows = context_.cache(layer_, kPoolRows);
    if (pools_.rows_of < 0) {
      const Slot made = pooled(x, {"attn_compressor_", spec_.key_dim, kUnpooledRows});
      write(rounded(turned_as_first(made, spec_.key_dim), TENON_ROUND_FP4_FP8, 16, spec_.key_dim),
            kPoolRows);
      if (pools_.index.linear) write_keys(made);
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

  void write(Slot row, std::string_view cache) {
    const auto [group, place] = context_.cache(layer_, cache);
    op::kv_write(ops_, row, kNoSlot, group, place);
  }

  /// Rotates a pool's row, which its last token completes, like the pool's first position.
  Slot turned_as_first(Slot row, uint32_t columns) {
    return rotated(row, context_.angles_before(layer_, pools_.stride - 1), columns);
  }

  /// Unrotated rows of pools, [T, columns], at tokens that end a pool.
  Slot pooled(Slot x, const Pooling& pooling) {
    const uint64_t columns = uint64_t{pooling.columns} * (pools_.overlap ? 2 : 1);
    const std::string matrix = name(pooling.prefix + "kv.weight");
    const RowSource rows = context_.tensors.tensor(matrix, {columns, width()}, TensorRole::Matrix);
    Slot row = op::linear(ops_, x, context_.tensors.bind(matrix, rows));
    if (pools_.pools_positions()) {
      const auto [group, place] = context_.cache(layer_, pooling.unpooled);
      op::kv_write(ops_, row, linear(x, pooling.prefix + "gate", columns, width()), group, place);
      const std::string bias = name(pooling.prefix + "ape.weight");
      const Slot places =
          pools_.place_bias
              ? context_.tensors.weight(bias, {pools_.stride, columns}, TensorRole::Bias)
              : context_.tensors.bind(bias, rows.rows(0, pools_.stride).filled(columns, 0.0f));
      row = op::compress(
          ops_, places,
          {.group = group, .layer = place, .stride = pools_.stride, .overlap = pools_.overlap});
    }
    return normed(row, pooling.prefix + "norm", pooling.columns);
  }

  /// Writes the index's keys of rows [T, key_dim].
  void write_keys(Slot rows) {
    const RowIndexSpec& index = pools_.index;
    const Slot key = normed(linear(rows, "indexer.attn_k", index.key_dim, spec_.key_dim),
                            "indexer.k_norm", index.key_dim);
    write(rounded(turned_as_first(key, index.key_dim), TENON_ROUND_FP4, 32, index.key_dim),
          kPoolKeys);
  }

  /// Pools selected by the index; kNoSlot without an index.
  Slot chosen(Slot x, Slot source) {
    const RowIndexSpec& index = pools_.index;
    if (index.count == 0) return kNoSlot;
    if (index.shared) return context_.shared(kPoolSelection);
    const auto [group, place] = context_.cache(layer_, kPoolKeys);
    if (!index.linear) {
      const Slot made = pooled(x, {"indexer_compressor_", index.key_dim, kUnpooledPoolKeys});
      write(turned_as_first(made, index.key_dim), kPoolKeys);
    }
    const Slot query =
        rounded(rotated(linear(source, "indexer.attn_q_b", uint64_t{index.heads} * index.key_dim,
                               pools_.query_rank),
                        context_.angles(layer_), index.key_dim),
                TENON_ROUND_FP4, 32, index.key_dim);
    const Slot weights = linear(x, "indexer.proj", index.heads, width());
    const SelectWithinOptions blocks{group, place, index.heads, index.candidate_blocks,
                                     index.candidate_block};
    if (index.candidate_blocks > 0 && !index.finds_candidates) {
      SelectWithinOptions within = blocks;
      within.count = index.count;
      return context_.shared(kPoolSelection) =
                 op::select_within(ops_, query, weights, context_.shared(kPoolCandidates), within);
    }
    if (index.finds_candidates) {
      context_.shared(kPoolCandidates) = op::select_candidates(ops_, query, weights, blocks);
    }
    return context_.shared(kPoolSelection) =
               op::select(ops_, query, weights, {group, place, index.heads, index.count});
  }

  Slot output(Slot attended) {
    const uint64_t rank = uint64_t{pools_.output_groups} * pools_.output_rank;
    const Slot matrices =
        context_.tensors.weight(name("attn_output_a.weight"),
                                {rank, head_values() / pools_.output_groups}, TensorRole::Matrix);
    const Slot low = op::linear_heads(ops_, context_.wanted_rows(layer_, attended), matrices,
                                      pools_.output_groups);
    return linear(low, "attn_output_b", width(), rank);
  }

  BuildContext& context_;
  ProgramBuilder& ops_;
  const uint32_t layer_;
  const AttentionSpec& spec_;
  const PoolSpec& pools_;
};

}  // namespace

void PoolSpec::add_caches(BuildContext& context, uint32_t layer) const {
  const AttentionSpec& attention = context.layer(layer).attention;
  const auto add_rows = [&](std::string_view role, uint32_t columns, uint32_t window,
                            uint32_t positions) {
    CacheGroup group = context.latent_group(columns, columns);
    group.window = window;
    group.stride = positions;
    context.add_cache(layer, role, group);
  };
  add_rows(kAttentionCache, attention.key_dim, attention.window, 0);
  if (rows_of >= 0) {
    context.share_cache(layer, kPoolRows, static_cast<uint32_t>(rows_of));
    context.share_cache(layer, kPoolKeys, static_cast<uint32_t>(rows_of));
    return;
  }
  if (stride > 0) add_rows(kPoolRows, attention.key_dim, 0, stride);
  if (pools_positions()) {
    context.add_cache(layer, kUnpooledRows,
                      unpooled_group(context, attention.key_dim, stride, overlap));
  }
  if (index.count == 0 || index.shared) return;
  add_rows(kPoolKeys, index.key_dim, 0, stride);
  if (!index.linear) {
    context.add_cache(layer, kUnpooledPoolKeys,
                      unpooled_group(context, index.key_dim, stride, overlap));
  }
}

Slot PoolSpec::build(BuildContext& context, uint32_t layer, Slot x) const {
  return PooledAttention(context, layer, *this).build(x);
}

}  // namespace tenon
