// Indices of sparse attention, each in the order in which a token passes through it.
#include "arch/blocks/sparse_index.h"

#include <string>
#include <string_view>

#include "arch/blocks/latent_attention.h"
#include "program/operations.h"

namespace tenon {
namespace {

constexpr std::string_view kIndexCache = "index";
constexpr std::string_view kLastKeys = "last index keys";
constexpr std::string_view kUnpooledKeys = "index positions";
constexpr std::string_view kIndexSelection = "index selection";

const IndexSpec& index_of(const BuildContext& context, uint32_t layer) {
  return context.layer(layer).attention.specs.get<IndexSpec>();
}

/// Rotates an index's heads or key, [T, heads * key_dim].
Slot rotated(BuildContext& context, uint32_t layer, Slot x, uint32_t style) {
  const AttentionSpec& spec = context.layer(layer).attention;
  const Slot angles = context.angles(layer);
  if (angles == kNoSlot) return x;
  const IndexSpec& index = index_of(context, layer);
  const uint32_t key_dim = index.key_dim;
  const uint32_t first = index.rotates_last ? key_dim - spec.rope.dimensions : 0;
  return op::rope(context.ops, x, angles, style, key_dim, first);
}

/// Selection of an index that layers share.
Selection selection_of(const IndexSpec& index, Slot chosen) {
  const bool has_pools = index.kind == IndexKind::Pools || index.kind == IndexKind::Means;
  const bool pooled = has_pools && index.together > 1;
  return {.slot = chosen, .parts = 1, .block = pooled ? index.together : 1, .rest = pooled};
}

/// Writes the keys of single positions, [T, key_dim], and pools them. The row of a token that ends
/// its pool holds the pool's key, [T, key_dim].
Slot pooled(BuildContext& context, uint32_t layer, Slot x, Slot key) {
  const IndexSpec& index = index_of(context, layer);
  const auto name = [&](const std::string& tensor) { return context.in_layer(layer, tensor); };
  const bool by_pool = context.tensors.has(name("indexer.kpool_gate.weight"));
  const std::string prefix = by_pool ? "indexer.kpool_" : "indexer_compressor_";
  const Slot gate = context.linear(x, name(prefix + "gate"), index.key_dim, context.model.width);
  const Slot places = context.tensors.weight(name(prefix + "ape.weight"),
                                             {index.together, index.key_dim}, TensorRole::Bias);
  const auto [group, place] = context.cache(layer, kUnpooledKeys);
  op::kv_write(context.ops, key, gate, group, place);
  return op::compress(context.ops, places,
                      {.group = group, .layer = place, .stride = index.together});
}

/// Mean of the last index.together rows of x [T, key_dim]; at the last position of a block, the
/// block's mean.
///   like  [1, key_dim] any weight
Slot mean_back(BuildContext& context, uint32_t layer, Slot x, const RowSource& like) {
  const uint32_t block = index_of(context, layer).together;
  if (block == 1) return x;
  const RowSource taps = like.transposed().filled(block, 1.0 / block);
  const std::string name = context.in_layer(layer, "indexer.k_proj (mean)");
  return op::conv(context.ops, x, context.tensors.bind(name, taps), kNoSlot,
                  context.state(layer, kLastKeys));
}

}  // namespace

void IndexSpec::add_caches(BuildContext& context, uint32_t layer) const {
  if (shared) return;
  CacheGroup keys = context.latent_group(key_dim, key_dim);
  if (kind == IndexKind::Pools || kind == IndexKind::Means) keys.stride = together;
  context.add_cache(layer, kIndexCache, keys);
  if (kind == IndexKind::Pools) {
    context.add_cache(layer, kUnpooledKeys, unpooled_group(context, key_dim, together, false));
  }
  if (kind == IndexKind::Means) context.add_state(layer, kLastKeys, state_values());
}

CacheGroup unpooled_group(const BuildContext& context, uint32_t columns, uint32_t positions,
                          bool overlap) {
  CacheGroup group;
  group.type = TENON_TYPE_F32;
  group.block_tokens = context.options.block_tokens;
  group.kv_heads = 1;
  group.key_dim = group.value_dim = overlap ? 2 * columns : columns;
  group.kind = TENON_CACHE_WINDOW;
  group.window = overlap ? 2 * positions : positions;
  group.stride = overlap ? 0 : positions;
  return group;
}

void Selection::put_into(AttentionOptions& options) const {
  options.selection = slot;
  options.selections = parts;
  options.selected_block = block;
  options.selected_rest = rest;
}

/// The published scores have a further factor, (heads key_dim)^-1/2, which affects no choice.
Selection select_positions(BuildContext& context, uint32_t layer, Slot x, Slot source) {
  const IndexSpec& index = index_of(context, layer);
  if (index.shared) return selection_of(index, context.shared(kIndexSelection));
  const auto name = [&](const char* tensor) { return context.in_layer(layer, tensor); };
  const uint32_t width = context.model.width;
  const NormSpec norm{"indexer.k_norm", NormKind::Layer, index.epsilon};
  const Slot query =
      context.linear(source, name("indexer.attn_q_b"), uint64_t{index.heads} * index.key_dim,
                     context.layer(layer).attention.specs.get<LatentSpec>().query_rank);
  const Slot key = context.norm(context.linear(x, name("indexer.attn_k"), index.key_dim, width),
                                name("indexer.k_norm"), norm, index.key_dim);
  const Slot turned = rotated(context, layer, query, index.rope_style);
  Slot row = rotated(context, layer, key, index.rope_style);
  if (index.kind == IndexKind::Pools) row = pooled(context, layer, x, row);
  const Slot weights = context.linear(x, name("indexer.proj"), index.heads, width);
  const BuildContext::CachePlace place = context.cache(layer, kIndexCache);
  op::kv_write(context.ops, row, kNoSlot, place.group, place.layer);
  context.shared(kIndexSelection) = op::select(
      context.ops, turned, weights, {place.group, place.layer, index.heads, index.count});
  return selection_of(index, context.shared(kIndexSelection));
}

Selection select_blocks(BuildContext& context, uint32_t layer, Slot x) {
  const IndexSpec& index = index_of(context, layer);
  const auto head_rows = [&](const char* projection, const char* norm_name, uint32_t heads) {
    const Slot rows = context.linear(x, context.in_layer(layer, projection),
                                     uint64_t{heads} * index.key_dim, context.model.width);
    const NormSpec norm{norm_name, NormKind::Rms, index.epsilon};
    const Slot normed =
        context.norm(rows, context.in_layer(layer, norm_name), norm, index.key_dim, index.key_dim);
    return rotated(context, layer, normed, index.rope_style);
  };
  const Slot query = head_rows("indexer.q_proj", "indexer.q_norm", index.heads);
  const Slot key = head_rows("indexer.k_proj", "indexer.k_norm", 1);
  const auto [group, place] = context.cache(layer, kIndexCache);
  op::kv_write(context.ops, key, kNoSlot, group, place);
  const Slot chosen = op::select_blocks(context.ops, query,
                                        {.group = group,
                                         .layer = place,
                                         .heads = index.heads,
                                         .count = index.count,
                                         .block = index.together,
                                         .local = index.local});
  return {.slot = chosen, .parts = index.heads, .block = index.together};
}

Selection select_by_means(BuildContext& context, uint32_t layer, Slot x) {
  const IndexSpec& index = index_of(context, layer);
  ProgramBuilder& ops = context.ops;
  const auto name = [&](const char* tensor) { return context.in_layer(layer, tensor); };
  const auto project = [&](const char* tensor, uint32_t heads) {
    return context.linear(x, name(tensor), uint64_t{heads} * index.key_dim, context.model.width);
  };
  const NormSpec norm{"indexer.q_norm", NormKind::Rms, index.epsilon};
  Slot query = context.norm(project("indexer.q_proj", index.heads), name("indexer.q_norm"), norm,
                            index.key_dim, index.key_dim);
  const std::string key_norm = name("indexer.k_norm.weight");
  const RowSource weights = context.tensors.tensor(key_norm, {index.key_dim}, TensorRole::Norm);
  const Slot mean = mean_back(context, layer, project("indexer.k_proj", 1), weights);
  Slot key = op::rms_norm(ops, mean, context.tensors.bind(key_norm, weights), index.epsilon);
  if (const Slot angles = context.angles(layer); angles != kNoSlot) {
    query = op::rope(ops, query, angles, index.rope_style, index.key_dim);
    const Slot first = context.angles_before(layer, index.together - 1);
    key = op::rope(ops, key, first, index.rope_style, index.key_dim);
  }
  const auto [group, place] = context.cache(layer, kIndexCache);
  op::kv_write(ops, key, kNoSlot, group, place);
  // All heads count the same.
  const Slot ones = op::scale(ops, op::slice(ops, query, index.key_dim, 0, 1), 0.0f, 1.0f);
  return selection_of(index,
                      op::select(ops, query, ones, {group, place, index.heads, index.count}));
}

}  // namespace tenon
