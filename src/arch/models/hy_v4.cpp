// Hunyuan 4 (general.architecture "hy_v4").
#include "arch/architecture.h"
#include "arch/blocks/hyper_connection.h"
#include "arch/keys/index_keys.h"

namespace tenon {
namespace {

/// Tencent 2026, Hy4 (as in models/hy_v4 of `transformers`): DeepSeek's latent attention with sinks
/// and gates, experts selected by sigmoids, hyper-connections.
ModelSpec read_hy_v4(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  read_latent_attention(keys, model);
  if (keys.count_or("attention.indexer.top_k", 0, 0, SpecLimits::kPositions) > 0) {
    read_index(keys, {.rotates_last = true, .epsilon = model.output_norm.epsilon}, model);
  }
  read_experts(keys, {.sigmoid = true}, model);
  read_shared_expert(keys, model);
  read_gate_limits(keys, model);
  model.specs.set(HyperConnectionSpec{
      .streams = keys.count("hyper_connection.count", 1, 16),
      .epsilon = static_cast<float>(keys.number("hyper_connection.epsilon", 0.0, 1.0)),
      .magnitude = static_cast<float>(keys.number("hyper_connection.magnitude", 0.0, 1e3))});
  for (LayerSpec& layer : model.layers) {
    AttentionSpec& attention = layer.attention;
    attention.sinks = Presence::Required;
    attention.gate.columns = attention.heads * attention.value_dim;
    layer.feed_forward.experts.gate.limit_after = layer.feed_forward.gate.limit_after = false;
  }
  return model;
}

constexpr int32_t kHyV4Indices[] = {1, 0, 1, 0};
constexpr KeyValue kHyV4Example[] = {
    {"attention.head_count_kv", 1u},
    {"attention.key_length", 80u},
    {"attention.value_length", 64u},
    {"attention.key_length_mla", 48u},
    {"attention.value_length_mla", 32u},
    {"attention.kv_lora_rank", 64u},
    {"attention.q_lora_rank", 96u},
    {"rope.dimension_count", 16u},
    {"leading_dense_block_count", 1u},
    {"expert_count", 16u},
    {"expert_used_count", 4u},
    {"expert_feed_forward_length", 256u},
    {"expert_shared_count", 1u},
    {"expert_gating_func", 2u},
    {"expert_weights_norm", true},
    {"swiglu_clamp_exp", 0.75f},
    {"attention.indexer.head_count", 4u},
    {"attention.indexer.key_length", 32u},
    {"attention.indexer.top_k", 16u},
    {"attention.indexer.types", std::span<const int32_t>(kHyV4Indices)},
    {"hyper_connection.count", 4u},
    {"hyper_connection.epsilon", 1e-6f},
    {"hyper_connection.magnitude", 2.0f}};

}  // namespace

extern constexpr Architecture kHyV4{
    .read = read_hy_v4, .build = build_hyper_decoder, .example = kHyV4Example};

}  // namespace tenon
