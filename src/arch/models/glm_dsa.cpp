// GLM-5 (general.architecture "glm-dsa").
#include "arch/architecture.h"
#include "arch/keys/index_keys.h"

namespace tenon {
namespace {

/// Files of GLM-5.2, recognised by the context length, may lack attention.indexer.types: its first
/// three layers, then every fourth, have an index of their own.
void share_indices(const Keys& keys, ModelSpec& model) {
  constexpr uint32_t kSharingContext = 1u << 20;
  if (keys.contains("attention.indexer.types") || model.trained_context < kSharingContext) return;
  for (size_t i = 3; i < model.layers.size(); ++i) {
    model.layers[i].attention.specs.get<IndexSpec>().shared = (i - 2) % 4 != 0;
  }
}

/// Zhipu 2026 (as in models/glm_moe_dsa of `transformers`): DeepSeek V3.2 with an index that
/// rotates neighbours, and selections that layers may share.
ModelSpec read_glm_dsa(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  read_latent_attention(keys, model);
  read_index(keys, {}, model);
  share_indices(keys, model);
  read_experts(keys, {.normalised = false, .sigmoid = true}, model);
  read_shared_expert(keys, model);
  part_prediction_layers(keys, model);
  for (LayerSpec& layer : model.prediction.layers) {
    layer.attention.specs.get<IndexSpec>().shared = false;
  }
  return model;
}

constexpr int32_t kGlmDsaIndices[] = {1, 0, 1, 0};
constexpr KeyValue kGlmDsaExample[] = {
    {"attention.head_count_kv", 1u},
    {"attention.key_length", 80u},
    {"attention.value_length", 64u},
    {"attention.key_length_mla", 48u},
    {"attention.value_length_mla", 32u},
    {"attention.kv_lora_rank", 64u},
    {"attention.q_lora_rank", 96u},
    {"attention.indexer.head_count", 4u},
    {"attention.indexer.key_length", 32u},
    {"attention.indexer.top_k", 16u},
    {"attention.indexer.types", std::span<const int32_t>(kGlmDsaIndices)},
    {"rope.dimension_count", 16u},
    {"leading_dense_block_count", 1u},
    {"expert_count", 16u},
    {"expert_used_count", 4u},
    {"expert_feed_forward_length", 256u},
    {"expert_shared_count", 1u},
    {"expert_gating_func", 2u},
    {"expert_weights_norm", true}};

}  // namespace

extern constexpr Architecture kGlmDsa{.read = read_glm_dsa, .example = kGlmDsaExample};

}  // namespace tenon
