// Granite with windows (general.architecture "granite-swa"; llama.cpp: "granite_swa").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// IBM 2026 (as in models/granite_swa and granitemoe_swa of `transformers`): Granite's multipliers,
/// windows and positions in the layers given by keys, a sink per head.
ModelSpec read_granite_swa(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  read_multipliers(keys, {}, model);
  (void)keys.count("attention.sliding_window", 1, SpecLimits::kPositions);
  read_windows(keys, 4, SeesAll::First, model);
  const bool has_experts = keys.count_or("expert_count", 0, 0, SpecLimits::kExperts) > 0;
  if (has_experts) read_experts(keys, {}, model);
  const uint32_t shared =
      keys.count_or("expert_shared_feed_forward_length", 0, 0, SpecLimits::kWidth);
  const auto layers = static_cast<uint32_t>(model.layers.size());
  std::vector<bool> rotated(layers, true);
  if (keys.contains("attention.rope_pattern")) {
    rotated = keys.flags("attention.rope_pattern", layers);
  }
  for (uint32_t i = 0; i < layers; ++i) {
    LayerSpec& layer = model.layers[i];
    layer.attention.sinks = Presence::Required;
    if (!rotated[i]) layer.attention.rope = {};
    if (!has_experts) continue;
    layer.feed_forward.experts.shared_width = shared;
    layer.feed_forward.experts.shared_fused = true;
  }
  return model;
}

constexpr int32_t kGraniteSwaRotated[] = {0, 1, 1, 1};
constexpr KeyValue kGraniteSwaExample[] = {
    {"attention.sliding_window", 16u},
    {"attention.rope_pattern", std::span<const int32_t>(kGraniteSwaRotated)},
    {"embedding_scale", 12.0f},
    {"residual_scale", 0.35f},
    {"attention.scale", 0.11f},
    {"logit_scale", 4.0f}};

}  // namespace

extern constexpr Architecture kGraniteSwa{.read = read_granite_swa, .example = kGraniteSwaExample};
extern constexpr Architecture kGraniteSwaUnder{.read = read_granite_swa,
                                               .example = kGraniteSwaExample};

}  // namespace tenon
