// DeepSeek V4 (general.architecture "deepseek4").
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "arch/architecture.h"
#include "arch/hyper_connection.h"
#include "program/ops.h"

namespace tenon {
namespace {

/// No key tells that pools of this size, and no others, overlap and have an index; llama.cpp goes by
/// it, too.
constexpr uint32_t kIndexedStride = 4;

/// Refuses sizes that do not fit together.
void check_heads(const Keys& keys, const AttentionSpec& attention) {
  if (attention.kv_heads != 1 || attention.value_dim != attention.key_dim) {
    keys.refuse(Code::Format, "attention.head_count_kv",
                "is {}, with keys of {} and values of {}; all heads share one row, key and value "
                "alike",
                attention.kv_heads, attention.key_dim, attention.value_dim);
  }
  if (attention.heads % attention.pools.output_groups != 0) {
    keys.refuse(Code::Format, "attention.output_group_count",
                "is {}, which does not divide the {} heads", attention.pools.output_groups,
                attention.heads);
  }
}

IndexSpec read_row_index(const Keys& keys, const AttentionSpec& attention) {
  IndexSpec index{.kind = IndexKind::Rows, .together = kIndexedStride};
  index.count = keys.count("attention.indexer.top_k", 1, kMaxSelected);
  index.heads = keys.count("attention.indexer.head_count", 1, SpecLimits::kHeads);
  index.key_dim =
      keys.count("attention.indexer.key_length", attention.rope.dimensions, SpecLimits::kHeadDim);
  const uint64_t values = uint64_t{index.heads} * index.key_dim;
  if (values > SpecLimits::kHeadValues) {
    keys.refuse(Code::Format, "attention.indexer.head_count", "is {}: {} values, more than {}",
                index.heads, values, SpecLimits::kHeadValues);
  }
  return index;
}

/// Layers with pools have a base of their own, and all of them alone are stretched, without YaRN's
/// magnitude.
RopeSpec read_layer_rope(const Keys& keys, const RopeSpec& rope, bool has_pools) {
  if (!has_pools) return rope.unscaled();
  RopeSpec stretched = rope;
  stretched.theta = keys.number("attention.compress_rope_freq_base", 2.0, 1e15);
  if (rope.scaling == RopeScaling::Yarn && rope.factor > 1.0) {
    stretched.magnitude /= 1.0 + 0.1 * std::log(rope.factor);
  }
  return stretched;
}

void read_pools(const Keys& keys, ModelSpec& model) {
  const std::vector<uint64_t> strides = keys.first_wholes(
      "attention.compress_ratios", model.layers.size(), 0, SpecLimits::kPositions / 2);
  for (size_t i = 0; i < strides.size(); ++i) {
    AttentionSpec& attention = model.layers[i].attention;
    PoolSpec& pools = attention.pools;
    pools.query_rank = keys.count("attention.q_lora_rank", 1, SpecLimits::kWidth);
    pools.output_groups = keys.count("attention.output_group_count", 1, SpecLimits::kHeads);
    pools.output_rank = keys.count("attention.output_lora_rank", 1, SpecLimits::kWidth);
    pools.stride = static_cast<uint32_t>(strides[i]);
    pools.overlap = pools.stride == kIndexedStride;
    attention.window = keys.count("attention.sliding_window", 1, SpecLimits::kPositions);
    attention.sinks = Presence::Required;
    check_heads(keys, attention);
    attention.rope = read_layer_rope(keys, attention.rope, pools.stride > 0);
    if (pools.overlap) attention.index = read_row_index(keys, attention);
  }
}

/// DeepSeek-AI 2026 (as `transformers` has it in models/deepseek_v4): attention to the last positions
/// and to pools of all, experts between residual streams that are mixed around each block; in the
/// first layers a table tells the experts of each token.
ModelSpec read_deepseek4(const Keys& keys) {
  ModelSpec model =
      read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT, .may_have_experts_alone = true});
  read_pools(keys, model);
  read_experts(keys, {}, model);
  read_shared_expert(keys, model);
  read_early_gate_limits(keys, model);
  const auto layers = static_cast<uint32_t>(model.layers.size());
  const uint32_t told = keys.count_or("hash_layer_count", 0, 0, layers);
  for (uint32_t i = 0; i < layers; ++i) {
    ExpertSpec& experts = model.layers[i].feed_forward.experts;
    experts.told_by_token = i < told;
    experts.selection_bias = i < told ? Presence::Absent : Presence::Required;
    if (experts.told_by_token && experts.groups > 1) {
      keys.refuse(Code::Unsupported, "expert_group_count",
                  "is {}, but a table tells the experts of the first {} layers", experts.groups,
                  told);
    }
  }
  read_mixed_streams(keys, model);
  model.unused_blocks = keys.count_or("nextn_predict_layers", 0, 0, layers - 1);
  return model;
}

/// Files may count blocks that predict further tokens and have none: then all their blocks are
/// layers.
void adapt_deepseek4(const ModelFile& file, ModelSpec& model) {
  const size_t first = model.layers.size() - model.unused_blocks;
  if (file.find(fmt::format("blk.{}.nextn.eh_proj.weight", first)) == nullptr) {
    model.unused_blocks = 0;
  }
  model.layers.resize(model.layers.size() - model.unused_blocks);
}

constexpr int32_t kDeepSeek4Strides[] = {16, 4, 0, 4};
constexpr KeyValue kDeepSeek4Example[] = {
    {"attention.head_count_kv", 1u},
    {"attention.q_lora_rank", 96u},
    {"attention.output_group_count", 2u},
    {"attention.output_lora_rank", 64u},
    {"attention.sliding_window", 24u},
    {"attention.compress_ratios", std::span<const int32_t>(kDeepSeek4Strides)},
    {"attention.compress_rope_freq_base", 160000.0f},
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
    {"hash_layer_count", 1u},
    {"swiglu_clamp_exp", 10.0f},
    {"hyper_connection.count", 4u},
    {"hyper_connection.epsilon", 1e-6f},
    {"hyper_connection.sinkhorn_iterations", 5u}};

}  // namespace

extern constexpr Architecture kDeepSeek4{.read = read_deepseek4,
                                         .adapt = adapt_deepseek4,
                                         .build = build_hyper_decoder,
                                         .example = kDeepSeek4Example};

}  // namespace tenon
