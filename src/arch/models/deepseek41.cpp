// DeepSeek V4.1 (general.architecture "deepseek41").
#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "arch/architecture.h"
#include "arch/blocks/hyper_connection.h"
#include "arch/blocks/ngram_embedding.h"
#include "arch/keys/pool_keys.h"
#include "program/ops.h"

namespace tenon {
namespace {

constexpr const char* kRows = "attention.kv_source_layer_ids";
constexpr const char* kIndex = "attention.index_source_layer_ids";

/// Most positions of a pool; published models have 1 and 2. Zeros replace the gates' missing
/// biases.
constexpr uint32_t kMostPooled = 64;

/// Flags per layer.
struct LayerRoles {
  std::vector<bool> makes_rows;  ///< makes rows of pools
  std::vector<bool> has_index;
};

/// Flags of the layers listed by a key.
std::vector<bool> layers_of(const Keys& keys, const char* key, uint32_t layers) {
  std::vector<bool> flags(layers);
  for (const uint64_t layer : keys.some_wholes(key, 0, layers - 1)) flags[layer] = true;
  return flags;
}

PoolSpec& pools_of(ModelSpec& model, uint32_t layer) {
  return model.layers[layer].attention.specs.get<PoolSpec>();
}

/// Layers with pools read the rows of the nearest earlier layer that makes some, restricted to the
/// selection of the nearest earlier layer with an index.
void share_rows(const Keys& keys, const LayerRoles& roles, ModelSpec& model) {
  const auto& [makes_rows, has_index] = roles;
  int32_t source = -1;
  for (uint32_t i = 0; i < model.layers.size(); ++i) {
    PoolSpec& pools = pools_of(model, i);
    const uint32_t stride = pools.stride;
    if (stride == 0) {
      if (!makes_rows[i] && !has_index[i]) continue;
      keys.refuse(Code::Format, "attention.compress_ratios",
                  "is 0 in layer {}, which has rows of pools or an index", i);
    }
    if (makes_rows[i] && !has_index[i]) {
      keys.refuse(Code::Format, kIndex, "lacks layer {}, which makes rows of pools", i);
    }
    if (makes_rows[i]) source = static_cast<int32_t>(i);
    if (source < 0) {
      keys.refuse(Code::Format, kRows, "has no layer up to {}, which looks at rows of pools", i);
    }
    const uint32_t made = pools_of(model, static_cast<uint32_t>(source)).stride;
    if (made != stride) {
      keys.refuse(Code::Format, "attention.compress_ratios",
                  "is {} in layer {}, whose rows are those of layer {} and its {}", stride, i,
                  source, made);
    }
    if (!makes_rows[i]) pools.rows_of = source;
    pools.index.shared = !has_index[i];
  }
}

/// Reads attention.candidate_*: the layer from which on an index selects from the blocks that it
/// found.
void read_candidates(const Keys& keys, ModelSpec& model) {
  constexpr const char* kSource = "attention.candidate_source_layer_id";
  if (!keys.contains(kSource)) {
    keys.refuse(Code::Unsupported, kSource,
                "is missing, and so is what later layers choose among: the published model has "
                "layer 20, .candidate_topk_blocks 2048 and .candidate_block_size 8; -1 stands for "
                "none");
  }
  const auto last = static_cast<int64_t>(model.layers.size() - 1);
  const int64_t source = keys.whole(kSource, -1, last);
  if (source < 0) return;
  const char* count_key = keys.contains("attention.candidate_top_k_blocks")
                              ? "attention.candidate_top_k_blocks"
                              : "attention.candidate_topk_blocks";
  const uint32_t blocks = keys.count(count_key, 1, kMaxSelected);
  const uint32_t block = keys.count("attention.candidate_block_size", 1,
                                    static_cast<uint32_t>(kMaxSelectedInBlocks / blocks));
  const auto first = static_cast<uint32_t>(source);
  const PoolSpec& finds = pools_of(model, first);
  if (finds.index.count == 0 || finds.index.shared) {
    keys.refuse(Code::Format, kSource, "is {}, a layer without an index", source);
  }
  for (uint32_t i = first; i < model.layers.size(); ++i) {
    PoolSpec& pools = pools_of(model, i);
    RowIndexSpec& index = pools.index;
    if (index.count == 0 || index.shared) continue;
    if (pools.stride != finds.stride) {
      keys.refuse(Code::Format, "attention.compress_ratios",
                  "is {} in layer {}, which chooses out of candidates of pools of {}", pools.stride,
                  i, finds.stride);
    }
    index.candidate_blocks = blocks;
    index.candidate_block = block;
    index.finds_candidates = i == first;
  }
}

/// Reads engram.*: rows by hashes of the last tokens, after mapping tokens by a table.
void read_engrams(const Keys& keys, ModelSpec& model) {
  if (!keys.contains("engram.layer_ids")) return;
  const std::vector<uint64_t> layers =
      keys.some_wholes("engram.layer_ids", 0, model.layers.size() - 1);
  const uint32_t n = keys.count("engram.max_ngram_size", 2, backends::kMaxNgram);
  const uint32_t heads = keys.count("engram.head_count", 1, 256);
  const uint64_t all = uint64_t{n - 1} * heads;
  NgramSpec spec;
  spec.row = keys.count("engram.key_length", 1, SpecLimits::kWidth);
  spec.lookup.end = static_cast<int32_t>(keys.count("engram.pad_id", 0, INT32_MAX));
  std::vector<int64_t> map;
  for (const uint64_t token : keys.some_wholes("engram.token_map", 0, INT32_MAX)) {
    map.push_back(static_cast<int64_t>(token));
  }
  if (map.empty()) keys.refuse(Code::Format, "engram.token_map", "is empty");
  spec.lookup.map = std::make_shared<const std::vector<int64_t>>(std::move(map));
  const auto multipliers =
      keys.wholes("engram.multipliers", layers.size() * uint64_t{n}, 1, INT64_MAX);
  const auto offsets = keys.wholes("engram.offsets", layers.size() * all, 0, INT32_MAX);
  const auto sizes = keys.wholes("engram.primes", layers.size() * all, 1, INT32_MAX);
  for (uint64_t i = 0; i < layers.size(); ++i) {
    NgramSpec own = spec;
    for (uint64_t j = 0; j < n; ++j) {
      own.lookup.multipliers.push_back(static_cast<int64_t>(multipliers[i * n + j]));
    }
    for (uint64_t head = 0; head < all; ++head) {
      own.lookup.heads.push_back(
          {head / heads + 2, offsets[i * all + head], sizes[i * all + head]});
    }
    model.layers[layers[i]].specs.set(own);
  }
}

/// DeepSeek-AI 2026 (as in models/deepseek_v41 of `transformers`): DeepSeek-V4 with rows of pools
/// and selections shared between layers, residual streams read with the shares of the block before,
/// and rows by hashes of the last tokens.
ModelSpec read_deepseek41(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  read_pools(keys, model);
  for (LayerSpec& layer : model.layers) {
    AttentionSpec& attention = layer.attention;
    auto& pools = attention.specs.get<PoolSpec>();
    pools.query_norm = pools.place_bias = false;
    pools.rounded = true;
    if (pools.stride == 0) continue;
    const uint32_t most = std::min(kMostPooled, attention.key_dim);
    if (pools.stride > most) {
      keys.refuse(Code::Unsupported, "attention.compress_ratios", "is {}, more than {}",
                  pools.stride, most);
    }
    pools.index = read_row_index(keys, attention);
    pools.index.linear = true;
  }
  read_experts(keys, {}, model);
  for (LayerSpec& layer : model.layers) {
    layer.feed_forward.experts.selection_bias = Presence::Required;
  }
  read_shared_expert(keys, model);
  read_early_gate_limits(keys, model);
  read_mixed_streams(keys, model);
  model.specs.get<HyperConnectionSpec>().late = true;
  read_engrams(keys, model);
  const auto layers = static_cast<uint32_t>(model.layers.size());
  if (keys.contains(kRows) && keys.contains(kIndex)) {
    share_rows(keys, {layers_of(keys, kRows, layers), layers_of(keys, kIndex, layers)}, model);
    read_candidates(keys, model);
  }
  model.unused_blocks = keys.count_or("nextn_predict_layers", 0, 0, layers - 1);
  return model;
}

/// Without these keys, the tensors tell which layers make rows and which have an index.
void adapt_deepseek41(const ModelFile& file, ModelSpec& model) {
  const Keys keys(file.metadata());
  drop_missing_blocks(file, model);
  if (!keys.contains(kRows) || !keys.contains(kIndex)) {
    LayerRoles roles;
    for (uint32_t i = 0; i < model.layers.size(); ++i) {
      const auto has = [&](const char* tensor) {
        return file.find(BuildContext::in_block(i, tensor)) != nullptr;
      };
      roles.makes_rows.push_back(has("attn_compressor_kv.weight"));
      roles.has_index.push_back(has("indexer.attn_q_b.weight"));
    }
    share_rows(keys, roles, model);
    read_candidates(keys, model);
  }
  for (const LayerSpec& layer : model.layers) {
    const auto* ngrams = layer.specs.find<NgramSpec>();
    if (ngrams == nullptr) continue;
    const size_t known = ngrams->lookup.map->size();
    if (known >= model.vocab) continue;
    keys.refuse(Code::Format, "engram.token_map", "has {} entries for {} tokens", known,
                model.vocab);
  }
}

/// Maps pairs of adjacent tokens to one.
constexpr std::array<int32_t, 512> make_token_map() {
  std::array<int32_t, 512> map{};
  for (int32_t i = 0; i < 512; ++i) map[static_cast<size_t>(i)] = i / 2;
  return map;
}

constexpr int32_t kDeepSeek41Strides[] = {0, 2, 2, 1, 1};
constexpr int32_t kDeepSeek41Rows[] = {1, 3};
constexpr int32_t kDeepSeek41Index[] = {1, 3, 4};
constexpr int32_t kDeepSeek41Ngrams[] = {1, 3};
constexpr int32_t kDeepSeek41Multipliers[] = {1000003, 7919, 104729, 999983, 15485863, 611953};
constexpr int32_t kDeepSeek41Sizes[] = {97, 101, 103, 107, 109, 113, 127, 131};
constexpr int32_t kDeepSeek41Offsets[] = {0, 97, 198, 301, 0, 109, 222, 349};
constexpr std::array<int32_t, 512> kDeepSeek41Map = make_token_map();
constexpr KeyValue kDeepSeek41Example[] = {
    {"block_count", 5u},
    {"attention.head_count_kv", 1u},
    {"attention.q_lora_rank", 96u},
    {"attention.output_group_count", 2u},
    {"attention.output_lora_rank", 64u},
    {"attention.sliding_window", 24u},
    {"attention.compress_ratios", std::span<const int32_t>(kDeepSeek41Strides)},
    {"attention.compress_rope_freq_base", 160000.0f},
    {"attention.kv_source_layer_ids", std::span<const int32_t>(kDeepSeek41Rows)},
    {"attention.index_source_layer_ids", std::span<const int32_t>(kDeepSeek41Index)},
    {"attention.candidate_source_layer_id", 3u},
    {"attention.candidate_topk_blocks", 6u},
    {"attention.candidate_block_size", 2u},
    {"attention.indexer.head_count", 4u},
    {"attention.indexer.key_length", 32u},
    {"attention.indexer.top_k", 6u},
    {"rope.dimension_count", 16u},
    {"expert_count", 8u},
    {"expert_used_count", 2u},
    {"expert_feed_forward_length", 256u},
    {"expert_shared_count", 1u},
    {"expert_gating_func", 4u},
    {"expert_weights_norm", true},
    {"expert_weights_scale", 1.5f},
    {"swiglu_clamp_exp", 10.0f},
    {"hyper_connection.count", 4u},
    {"hyper_connection.epsilon", 1e-6f},
    {"hyper_connection.sinkhorn_iterations", 5u},
    {"engram.layer_ids", std::span<const int32_t>(kDeepSeek41Ngrams)},
    {"engram.max_ngram_size", 3u},
    {"engram.head_count", 2u},
    {"engram.key_length", 32u},
    {"engram.pad_id", 1u},
    {"engram.multipliers", std::span<const int32_t>(kDeepSeek41Multipliers)},
    {"engram.primes", std::span<const int32_t>(kDeepSeek41Sizes)},
    {"engram.offsets", std::span<const int32_t>(kDeepSeek41Offsets)},
    {"engram.token_map", std::span<const int32_t>(kDeepSeek41Map)}};

// Routing biases for image tokens.
constexpr std::string_view kDeepSeek41Ignored[] = {"blk.*.exp_probs_b_vl.*"};

}  // namespace

extern constexpr Architecture kDeepSeek41{.read = read_deepseek41,
                                          .adapt = adapt_deepseek41,
                                          .build = build_hyper_decoder,
                                          .example = kDeepSeek41Example,
                                          .ignored = kDeepSeek41Ignored};

}  // namespace tenon
