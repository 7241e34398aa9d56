// Command R7B and Command A (general.architecture "cohere2").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Cohere 2024: Command R with a window in three of four layers; only these rotate positions.
ModelSpec read_cohere2(const Keys& keys) {
  ModelSpec model =
      read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT, .norm = NormKind::LayerUnbiased});
  read_windows(keys, 4, SeesAll::Last, model);
  model.logit_scale = keys.scale_or("logit_scale", 1.0);
  for (LayerSpec& layer : model.layers) {
    layer.parallel = true;
    layer.feed_forward_norm = {};
    if (layer.attention.window == 0) layer.attention.rope = {};
  }
  return model;
}

constexpr KeyValue kCohere2Example[] = {{"logit_scale", 0.25f}, {"attention.sliding_window", 16u}};

}  // namespace

extern constexpr Architecture kCohere2{.read = read_cohere2, .example = kCohere2Example};

}  // namespace tenon
