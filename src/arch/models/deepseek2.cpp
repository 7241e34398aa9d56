// DeepSeek V2 and V3, Kimi K2 (general.architecture "deepseek2").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// DeepSeek-AI 2024, arXiv 2405.04434 and 2412.19437: latent attention; fine-grained experts, some
/// of them shared, selected by groups with a load-balancing bias. Youtu-LLM has only the latent
/// attention.
ModelSpec read_deepseek2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  drop_prediction_layers(keys, model);
  model.prediction.hands_on_normed = false;
  read_latent_attention(keys, model);
  if (keys.count_or("expert_count", 0, 0, SpecLimits::kExperts) > 0) {
    read_experts(keys, {.normalised = false}, model);
    read_shared_expert(keys, model);
  }
  return model;
}

constexpr KeyValue kDeepSeek2Example[] = {
    {"attention.head_count_kv", 1u},     {"attention.key_length", 80u},
    {"attention.value_length", 64u},     {"attention.key_length_mla", 48u},
    {"attention.value_length_mla", 32u}, {"attention.kv_lora_rank", 64u},
    {"attention.q_lora_rank", 96u},      {"rope.dimension_count", 16u},
    {"leading_dense_block_count", 1u},   {"expert_count", 16u},
    {"expert_used_count", 4u},           {"expert_feed_forward_length", 256u},
    {"expert_shared_count", 1u},         {"expert_gating_func", 2u},
    {"expert_weights_norm", true},       {"expert_group_count", 4u},
    {"expert_group_used_count", 2u}};

}  // namespace

extern constexpr Architecture kDeepSeek2{.read = read_deepseek2, .example = kDeepSeek2Example};

}  // namespace tenon
