// Kimi Linear (general.architecture "kimi-linear").
#include "arch/architecture.h"
#include "arch/keys/recurrent_keys.h"

namespace tenon {
namespace {

/// Moonshot AI 2025, arXiv 2510.26692: groups of three layers of Kimi Delta Attention and a layer
/// of latent attention without positions; a mixture of experts.
ModelSpec read_kimi_linear(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT, .hybrid = true});
  read_latent_attention(keys, model);
  read_experts(keys, {}, model);
  read_shared_expert(keys, model);
  const std::vector<uint32_t> heads = keys.counts(
      "attention.head_count", static_cast<uint32_t>(model.layers.size()), 0, SpecLimits::kHeads);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    LayerSpec& layer = model.layers[i];
    layer.attention.rope = {};
    ExpertSpec& experts = layer.feed_forward.experts;
    if (experts.count > 0) experts.normalised = true;
    if (layer.attention.heads > 0) continue;
    if (heads[i] == 0) keys.refuse(Code::Format, "attention.head_count", "is 0 in layer {}", i);
    set_delta_rule(keys, read_kimi_delta(keys, heads[i], model.output_norm.epsilon), layer);
  }
  return model;
}

constexpr int32_t kKimiLinearHeads[] = {0, 0, 0, 1};
constexpr KeyValue kKimiLinearExample[] = {
    {"attention.head_count_kv", std::span<const int32_t>(kKimiLinearHeads)},
    {"attention.key_length", 80u},
    {"attention.value_length", 64u},
    {"attention.key_length_mla", 48u},
    {"attention.value_length_mla", 32u},
    {"rope.dimension_count", 16u},
    {"attention.kv_lora_rank", 64u},
    {"ssm.conv_kernel", 4u},
    {"kda.head_dim", 64u},
    {"leading_dense_block_count", 1u},
    {"expert_count", 8u},
    {"expert_used_count", 2u},
    {"expert_feed_forward_length", 256u},
    {"expert_shared_count", 1u},
    {"expert_gating_func", 2u}};

}  // namespace

extern constexpr Architecture kKimiLinear{.read = read_kimi_linear, .example = kKimiLinearExample};

}  // namespace tenon
