// GLM-5.3, its text model (general.architecture "glm5next", "glm5-next").
#include "arch/architecture.h"
#include "arch/blocks/hyper_connection.h"
#include "arch/keys/index_keys.h"
#include "arch/keys/recurrent_keys.h"

namespace tenon {
namespace {

/// Kimi Delta Attention (arXiv 2510.26692) in the layers without KV heads.
void read_kimi_layers(const Keys& keys, const std::vector<uint32_t>& heads, ModelSpec& model) {
  for (size_t i = 0; i < model.layers.size(); ++i) {
    LayerSpec& layer = model.layers[i];
    if (layer.attention.heads > 0) continue;
    DeltaSpec spec = read_kimi_delta(keys, heads[i], model.output_norm.epsilon);
    spec.lower_bound = static_cast<float>(keys.number("kda.gate_lower_bound", -1e3, -1e-6));
    spec.negative_rate = true;
    set_delta_rule(keys, spec, layer);
  }
}

/// Zhipu 2026 (as in models/glm5_next of `transformers`): groups of layers of Kimi Delta Attention
/// and a layer of latent attention without positions, to pools of positions selected by an index;
/// experts selected by sigmoids; residual streams that are mixed around each block. Forks of
/// llama.cpp write the second name.
ModelSpec read_glm5next(const Keys& keys) {
  ModelSpec model = read_decoder(
      keys, {.rope_style = TENON_ROPE_ADJACENT, .hybrid = true, .may_be_unrotated = true});
  if (keys.count("rope.dimension_count", 0, SpecLimits::kHeadDim) != 0) {
    keys.refuse(Code::Unsupported, "rope.dimension_count",
                "is not 0; published attention of these models has no positions");
  }
  const std::vector<uint32_t> heads = keys.counts(
      "attention.head_count", static_cast<uint32_t>(model.layers.size()), 1, SpecLimits::kHeads);
  drop_prediction_layers(keys, model);
  read_latent_attention(keys, model);
  read_pooled_index(keys, model);
  read_kimi_layers(keys, heads, model);
  read_experts(keys, {.sigmoid = true}, model);
  read_shared_expert(keys, model);
  read_early_gate_limits(keys, model);
  read_mixed_streams(keys, model);
  model.specs.get<HyperConnectionSpec>().mean = true;
  return model;
}

constexpr int32_t kGlm5NextHeads[] = {0, 1, 0, 1};
constexpr KeyValue kGlm5NextExample[] = {
    {"attention.head_count_kv", std::span<const int32_t>(kGlm5NextHeads)},
    {"attention.key_length", 64u},
    {"attention.value_length", 64u},
    {"attention.key_length_mla", 48u},
    {"attention.value_length_mla", 32u},
    {"attention.kv_lora_rank", 64u},
    {"attention.q_lora_rank", 96u},
    {"attention.layer_norm_epsilon", 1e-6f},
    {"attention.indexer.head_count", 4u},
    {"attention.indexer.key_length", 32u},
    {"attention.indexer.top_k", 16u},
    {"attention.indexer.kpool", 4u},
    {"attention.indexer.kpool_select_tail", true},
    {"rope.dimension_count", 0u},
    {"ssm.conv_kernel", 4u},
    {"kda.head_dim", 64u},
    {"kda.gate_lower_bound", -5.0f},
    {"leading_dense_block_count", 1u},
    {"expert_count", 8u},
    {"expert_used_count", 2u},
    {"expert_feed_forward_length", 256u},
    {"expert_shared_count", 1u},
    {"expert_gating_func", 2u},
    {"expert_weights_norm", true},
    {"swiglu_clamp_exp", 10.0f},
    {"hyper_connection.count", 4u},
    {"hyper_connection.epsilon", 1e-6f},
    {"hyper_connection.sinkhorn_iterations", 5u}};

}  // namespace

extern constexpr Architecture kGlm5Next{
    .read = read_glm5next, .build = build_hyper_decoder, .example = kGlm5NextExample};
extern constexpr Architecture kGlm5NextDashed{
    .read = read_glm5next, .build = build_hyper_decoder, .example = kGlm5NextExample};

}  // namespace tenon
