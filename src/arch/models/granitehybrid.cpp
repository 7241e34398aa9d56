// Granite 4 (general.architecture "granitehybrid").
#include "arch/architecture.h"
#include "arch/keys/recurrent_keys.h"

namespace tenon {
namespace {

/// IBM 2025: Granite's multipliers and experts, with layers of Mamba 2 and a few of attention.
ModelSpec read_granitehybrid(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT, .hybrid = true});
  read_multipliers(keys, {}, model);
  if (keys.count_or("expert_count", 0, 0, SpecLimits::kExperts) > 0) {
    read_experts(keys, {}, model);
    read_shared_expert(keys, model);
  }
  const StateSpaceSpec spec = read_state_space(keys, MambaVersion::Second);
  const bool positions = keys.flag("rope.scaling.finetuned").value_or(true);
  for (LayerSpec& layer : model.layers) {
    if (layer.attention.heads == 0) set_state_space(keys, spec, layer);
    if (!positions) layer.attention.rope = {};
  }
  return model;
}

constexpr int32_t kGraniteHybridHeads[] = {0, 0, 2, 0};
constexpr KeyValue kGraniteHybridExample[] = {
    {"attention.head_count_kv", std::span<const int32_t>(kGraniteHybridHeads)},
    {"ssm.conv_kernel", 4u},
    {"ssm.inner_size", 512u},
    {"ssm.state_size", 32u},
    {"ssm.time_step_rank", 8u},
    {"ssm.group_count", 2u},
    {"embedding_scale", 12.0f},
    {"residual_scale", 0.35f},
    {"attention.scale", 0.11f},
    {"logit_scale", 4.0f}};

}  // namespace

extern constexpr Architecture kGraniteHybrid{.read = read_granitehybrid,
                                             .example = kGraniteHybridExample};

}  // namespace tenon
