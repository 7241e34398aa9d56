// DeepSeek V4 (general.architecture "deepseek4").
#include "arch/architecture.h"
#include "arch/blocks/hyper_connection.h"
#include "arch/keys/pool_keys.h"
#include "program/ops.h"

namespace tenon {
namespace {

/// Only pools of this size overlap and have an index. No key says so; llama.cpp has the same rule.
constexpr uint32_t kIndexedStride = 4;

void read_overlapping_pools(const Keys& keys, ModelSpec& model) {
  read_pools(keys, model);
  for (LayerSpec& layer : model.layers) {
    auto& pools = layer.attention.specs.get<PoolSpec>();
    pools.overlap = pools.stride == kIndexedStride;
    if (pools.overlap) pools.index = read_row_index(keys, layer.attention);
  }
}

/// DeepSeek-AI 2026 (as in models/deepseek_v4 of `transformers`): attention to the last positions
/// and to pools of all, experts, and residual streams that are mixed around each block. In the
/// first layers a table lists the experts of each token.
ModelSpec read_deepseek4(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  read_overlapping_pools(keys, model);
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
                                         .adapt = drop_missing_blocks,
                                         .build = build_hyper_decoder,
                                         .example = kDeepSeek4Example};

}  // namespace tenon
