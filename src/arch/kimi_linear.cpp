// Kimi Linear (general.architecture "kimi-linear").
#include "arch/architecture.h"
#include "arch/recurrent_keys.h"

namespace tenon {
namespace {

/// Moonshot AI 2025, arXiv 2510.26692: three layers of Kimi Delta Attention to one of latent
/// attention without positions, over a mixture of experts.
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
    DeltaSpec spec;
    spec.key_heads = spec.value_heads = heads[i];
    spec.key_dim = spec.value_dim = keys.count("kda.head_dim", 1, SpecLimits::kHeadDim);
    spec.kernel = keys.count("ssm.conv_kernel", 2, SpecLimits::kConvTaps);
    spec.each_channel = true;
    spec.epsilon = model.output_norm.epsilon;
    set_delta_rule(spec, layer);
  }
  return model;
}

}  // namespace

extern constexpr Architecture kKimiLinear{.read = read_kimi_linear};

}  // namespace tenon
