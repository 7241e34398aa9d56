// Nemotron-H and Nemotron 3 (general.architecture "nemotron_h", "nemotron_h_moe").
#include "arch/architecture.h"
#include "arch/feed_forward.h"
#include "arch/recurrent_keys.h"

namespace tenon {
namespace {

/// NVIDIA 2025, arXiv 2504.03624: each block is one of Mamba 2, attention without positions, and a
/// feed-forward of squared ReLU.
ModelSpec read_nemotron_h(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .hybrid = true});
  const StateSpaceSpec spec = read_state_space(keys, MambaVersion::Second);
  for (LayerSpec& layer : model.layers) {
    layer.attention.rope = {};
    layer.attention.qkv_bias = Presence::Optional;
    layer.attention.output_bias = Presence::Optional;
    layer.feed_forward.kind = FeedForwardKind::Plain;
    layer.feed_forward.activation = TENON_ACTIVATION_RELU_SQUARED;
    layer.feed_forward.bias = Presence::Optional;
    layer.feed_forward_norm = layer.attention_norm;
    if (layer.has_feed_forward()) {
      layer.attention = {};
      layer.attention_norm = {};
    } else if (layer.attention.heads == 0) {
      set_state_space(spec, layer);
    }
  }
  return model;
}

/// The same with experts, which may work in a narrower space than the router.
ModelSpec read_nemotron_h_moe(const Keys& keys) {
  ModelSpec model = read_nemotron_h(keys);
  read_experts(keys, {.normalised = false, .sigmoid = true}, model);
  read_shared_expert(keys, model);
  const uint32_t latent = keys.count_or("moe_latent_size", 0, 0, SpecLimits::kWidth);
  for (LayerSpec& layer : model.layers) {
    ExpertSpec& experts = layer.feed_forward.experts;
    if (experts.count == 0) continue;
    experts.sigmoid = true;
    experts.latent_width = latent;
  }
  return model;
}

}  // namespace

extern constexpr Architecture kNemotronH{.read = read_nemotron_h};
extern constexpr Architecture kNemotronHMoe{.read = read_nemotron_h_moe};

}  // namespace tenon
