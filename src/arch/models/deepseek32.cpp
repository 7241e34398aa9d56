// DeepSeek V3.2 (general.architecture "deepseek32").
#include "arch/architecture.h"
#include "arch/keys/index_keys.h"

namespace tenon {
namespace {

/// DeepSeek-AI 2025, arXiv 2512.02556: DeepSeek V3 with attention to positions selected by an
/// index. The index rotates halves, attention neighbours.
ModelSpec read_deepseek32(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  read_latent_attention(keys, model);
  read_index(keys, {.rope_style = TENON_ROPE_HALVES}, model);
  read_experts(keys, {.normalised = false, .sigmoid = true}, model);
  read_shared_expert(keys, model);
  part_prediction_layers(keys, model);
  model.prediction.hands_on_normed = false;
  return model;
}

constexpr KeyValue kDeepSeek32Example[] = {{"attention.head_count_kv", 1u},
                                           {"attention.key_length", 80u},
                                           {"attention.value_length", 64u},
                                           {"attention.key_length_mla", 48u},
                                           {"attention.value_length_mla", 32u},
                                           {"attention.kv_lora_rank", 64u},
                                           {"attention.q_lora_rank", 96u},
                                           {"attention.indexer.head_count", 4u},
                                           {"attention.indexer.key_length", 32u},
                                           {"attention.indexer.top_k", 16u},
                                           {"rope.dimension_count", 16u},
                                           {"leading_dense_block_count", 1u},
                                           {"expert_count", 16u},
                                           {"expert_used_count", 4u},
                                           {"expert_feed_forward_length", 256u},
                                           {"expert_shared_count", 1u},
                                           {"expert_gating_func", 2u},
                                           {"expert_weights_norm", true},
                                           {"expert_group_count", 4u},
                                           {"expert_group_used_count", 2u}};

}  // namespace

extern constexpr Architecture kDeepSeek32{.read = read_deepseek32, .example = kDeepSeek32Example};

}  // namespace tenon
