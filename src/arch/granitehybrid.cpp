// Granite 4 (general.architecture "granitehybrid").
#include "arch/architecture.h"
#include "arch/recurrent_keys.h"

namespace tenon {
namespace {

/// IBM 2025: Granite's multipliers and experts over layers of Mamba 2, with attention in a few.
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
    if (layer.attention.heads == 0) set_state_space(spec, layer);
    if (!positions) layer.attention.rope = {};
  }
  return model;
}

}  // namespace

extern constexpr Architecture kGraniteHybrid{.read = read_granitehybrid};

}  // namespace tenon
