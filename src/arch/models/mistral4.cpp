// Mistral 4 (general.architecture "mistral4").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Mistral AI 2026: DeepSeek V3's blocks with a softmax router, and queries that grow with their
/// position.
ModelSpec read_mistral4(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  read_latent_attention(keys, model);
  read_experts(keys, {.normalised = false}, model);
  read_shared_expert(keys, model);
  read_query_scale(keys, model);
  return model;
}

constexpr KeyValue kMistral4Example[] = {{"attention.head_count_kv", 1u},
                                         {"attention.key_length", 80u},
                                         {"attention.value_length", 64u},
                                         {"attention.key_length_mla", 48u},
                                         {"attention.value_length_mla", 32u},
                                         {"attention.kv_lora_rank", 64u},
                                         {"attention.q_lora_rank", 96u},
                                         {"attention.temperature_scale", 0.1f},
                                         {"attention.temperature_length", 16u},
                                         {"rope.dimension_count", 16u},
                                         {"expert_count", 8u},
                                         {"expert_used_count", 2u},
                                         {"expert_feed_forward_length", 256u},
                                         {"expert_shared_count", 1u},
                                         {"expert_weights_norm", true}};

}  // namespace

extern constexpr Architecture kMistral4{.read = read_mistral4, .example = kMistral4Example};

}  // namespace tenon
