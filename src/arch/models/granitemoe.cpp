// Granite 3 with experts (general.architecture "granitemoe").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// IBM 2024: Granite's multipliers, experts in every layer and, in some models, a shared one.
ModelSpec read_granitemoe(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  read_multipliers(keys, {}, model);
  read_experts(keys, {}, model);
  const uint32_t shared =
      keys.count_or("expert_shared_feed_forward_length", 0, 0, SpecLimits::kWidth);
  const bool positions = keys.flag("rope.scaling.finetuned").value_or(true);
  for (LayerSpec& layer : model.layers) {
    layer.feed_forward.experts.shared_width = shared;
    if (!positions) layer.attention.rope = {};
  }
  return model;
}

constexpr KeyValue kGraniteMoeExample[] = {{"embedding_scale", 12.0f},
                                           {"residual_scale", 0.35f},
                                           {"attention.scale", 0.11f},
                                           {"logit_scale", 4.0f},
                                           {"expert_count", 8u},
                                           {"expert_used_count", 3u},
                                           {"expert_shared_feed_forward_length", 384u}};

}  // namespace

extern constexpr Architecture kGraniteMoe{.read = read_granitemoe, .example = kGraniteMoeExample};

}  // namespace tenon
