#include "arch/keys/index_keys.h"

#include <algorithm>
#include <vector>

#include "arch/blocks/latent_attention.h"
#include "base/error.h"
#include "program/ops.h"

namespace tenon {
namespace {

/// Reads attention.indexer.head_count and .key_length, which is at least `rotated`.
void read_index_heads(const Keys& keys, uint32_t rotated, IndexSpec& index) {
  index.heads = keys.count("attention.indexer.head_count", 1, SpecLimits::kHeads);
  index.key_dim =
      keys.count("attention.indexer.key_length", std::max(1u, rotated), SpecLimits::kHeadDim);
  if (uint64_t{index.heads} * index.key_dim <= SpecLimits::kHeadValues) return;
  keys.refuse(Code::Format, "attention.indexer.head_count",
              "is {}: {} values in all heads, more than {}", index.heads,
              uint64_t{index.heads} * index.key_dim, SpecLimits::kHeadValues);
}

/// Reads attention.indexer.types: a flag per layer for an index of its own. Other layers share the
/// selection of the nearest earlier layer with an index.
void share_selections(const Keys& keys, ModelSpec& model) {
  constexpr const char* kTypes = "attention.indexer.types";
  if (!keys.contains(kTypes)) return;
  const std::vector<bool> own = keys.flags(kTypes, static_cast<uint32_t>(model.layers.size()));
  bool chosen = false;
  for (size_t i = 0; i < own.size(); ++i) {
    auto* index = model.layers[i].attention.specs.find<IndexSpec>();
    if (index == nullptr) continue;
    chosen = chosen || own[i];
    if (!chosen) keys.refuse(Code::Format, kTypes, "begins with a layer without an index");
    index->shared = !own[i];
  }
}

/// Refuses an index without a query rank, since it reads the source of latent queries.
void require_query_rank(const Keys& keys, uint32_t rank) {
  if (rank > 0) return;
  keys.refuse(Code::Format, "attention.q_lora_rank",
              "is 0 or missing, but an index reads what queries are made of");
}

}  // namespace

void read_pooled_index(const Keys& keys, ModelSpec& model) {
  IndexSpec index{.kind = IndexKind::Pools};
  index.epsilon = static_cast<float>(
      keys.number_or("attention.layer_norm_epsilon", 1e-6, SpecLimits::kEpsilon, 1.0));
  index.together = keys.count("attention.indexer.kpool", 1, SpecLimits::kPositions);
  const uint32_t positions = keys.count("attention.indexer.top_k", 1, kMaxSelected);
  if (positions % index.together != 0) {
    keys.refuse(Code::Format, "attention.indexer.top_k", "is {}, no whole number of pools of {}",
                positions, index.together);
  }
  index.count = positions / index.together;
  if (!keys.flag("attention.indexer.kpool_select_tail").value_or(true)) {
    keys.refuse(Code::Unsupported, "attention.indexer.kpool_select_tail",
                "is false; positions after the last whole pool are always looked at here");
  }
  for (LayerSpec& layer : model.layers) {
    AttentionSpec& attention = layer.attention;
    if (attention.heads == 0) continue;
    const auto& latent = attention.specs.get<LatentSpec>();
    require_query_rank(keys, latent.query_rank);
    read_index_heads(keys, latent.rope_dim, index);
    attention.specs.set(index);
  }
  share_selections(keys, model);
}

void read_block_index(const Keys& keys, ModelSpec& model) {
  for (LayerSpec& layer : model.layers) {
    if (layer.feed_forward.experts.count == 0) continue;
    IndexSpec index{.kind = IndexKind::Blocks, .epsilon = layer.attention.qk_norm_epsilon};
    index.rope_style = layer.attention.rope.style;
    read_index_heads(keys, layer.attention.rope.dimensions, index);
    if (index.heads != layer.attention.kv_heads) {
      keys.refuse(Code::Format, "attention.indexer.head_count", "is {}, not the {} KV heads",
                  index.heads, layer.attention.kv_heads);
    }
    index.count = keys.count("attention.indexer.top_k", 1, kMaxSelected);
    index.local = keys.count("attention.indexer.local_blocks", 0, index.count);
    index.together = keys.count("attention.indexer.block_size", 1, SpecLimits::kPositions);
    if (uint64_t{index.count} * index.together > kMaxSelectedInBlocks / index.heads) {
      keys.refuse(Code::Format, "attention.indexer.block_size",
                  "is {}: {} blocks of it for {} heads are more than {} positions", index.together,
                  index.count, index.heads, kMaxSelectedInBlocks);
    }
    layer.attention.specs.set(index);
  }
}

void read_index(const Keys& keys, const IndexSpec& kind, ModelSpec& model) {
  const auto& latent = model.layers.front().attention.specs.get<LatentSpec>();
  require_query_rank(keys, latent.query_rank);
  IndexSpec index = kind;
  index.count = keys.count("attention.indexer.top_k", 1, kMaxSelected);
  read_index_heads(keys, latent.rope_dim, index);
  for (LayerSpec& layer : model.layers) layer.attention.specs.set(index);
  share_selections(keys, model);
}

}  // namespace tenon
