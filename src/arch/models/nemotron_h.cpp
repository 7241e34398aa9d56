// Nemotron-H and Nemotron 3 (general.architecture "nemotron_h", "nemotron_h_moe").
#include "arch/architecture.h"
#include "arch/blocks/feed_forward.h"
#include "arch/keys/recurrent_keys.h"

namespace tenon {
namespace {

/// NVIDIA 2025, arXiv 2504.03624: each block is either Mamba 2, attention without positions, or a
/// feed-forward with squared ReLU. A last block that predicts a further token has attention and a
/// feed-forward.
ModelSpec read_nemotron_blocks(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.hybrid = true, .rotates = false});
  const StateSpaceSpec spec = read_state_space(keys, MambaVersion::Second);
  const auto blocks = static_cast<uint32_t>(model.layers.size());
  const uint32_t trunk = blocks - keys.count_or("nextn_predict_layers", 0, 0, blocks - 1);
  for (uint32_t i = 0; i < blocks; ++i) {
    LayerSpec& layer = model.layers[i];
    layer.feed_forward.kind = FeedForwardKind::Plain;
    layer.feed_forward.activation = TENON_ACTIVATION_RELU_SQUARED;
    layer.feed_forward_norm = layer.attention_norm;
    if (i >= trunk) {
      layer.feed_forward_norm.name = "post_attention_norm";
    } else if (layer.has_feed_forward()) {
      layer.attention = {};
      layer.attention_norm = {};
    } else if (layer.attention.heads == 0) {
      set_state_space(keys, spec, layer);
    }
  }
  return model;
}

ModelSpec read_nemotron_h(const Keys& keys) {
  ModelSpec model = read_nemotron_blocks(keys);
  part_prediction_layers(keys, model);
  return model;
}

/// Nemotron-H with experts, which may work in a narrower space than the router.
ModelSpec read_nemotron_h_moe(const Keys& keys) {
  ModelSpec model = read_nemotron_blocks(keys);
  read_experts(keys, {.normalised = false, .sigmoid = true}, model);
  read_shared_expert(keys, model);
  const uint32_t latent = keys.count_or("moe_latent_size", 0, 0, SpecLimits::kWidth);
  for (LayerSpec& layer : model.layers) {
    ExpertSpec& experts = layer.feed_forward.experts;
    if (experts.count == 0) continue;
    experts.sigmoid = true;
    experts.latent_width = latent;
  }
  part_prediction_layers(keys, model);
  return model;
}

constexpr int32_t kNemotronHHeads[] = {0, 0, 2, 0};
constexpr int32_t kNemotronHWidths[] = {0, 512, 0, 0};
constexpr KeyValue kNemotronHExample[] = {
    {"attention.head_count_kv", std::span<const int32_t>(kNemotronHHeads)},
    {"feed_forward_length", std::span<const int32_t>(kNemotronHWidths)},
    {"ssm.conv_kernel", 4u},
    {"ssm.inner_size", 512u},
    {"ssm.state_size", 32u},
    {"ssm.time_step_rank", 8u},
    {"ssm.group_count", 2u}};

constexpr KeyValue kNemotronHMoeExample[] = {
    {"attention.head_count_kv", std::span<const int32_t>(kNemotronHHeads)},
    {"feed_forward_length", std::span<const int32_t>(kNemotronHWidths)},
    {"ssm.conv_kernel", 4u},
    {"ssm.inner_size", 512u},
    {"ssm.state_size", 32u},
    {"ssm.time_step_rank", 8u},
    {"ssm.group_count", 2u},
    {"expert_count", 8u},
    {"expert_used_count", 3u},
    {"expert_feed_forward_length", 256u},
    {"expert_shared_count", 1u},
    {"moe_latent_size", 128u}};

}  // namespace

extern constexpr Architecture kNemotronH{.read = read_nemotron_h, .example = kNemotronHExample};
extern constexpr Architecture kNemotronHMoe{.read = read_nemotron_h_moe,
                                            .example = kNemotronHMoeExample};

}  // namespace tenon
