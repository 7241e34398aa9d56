// GLM-4 of 2025 (general.architecture "glm4").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Zhipu 2025: norms before and after the blocks, half of each head rotated, gate and up fused.
ModelSpec read_glm4(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  add_post_norms(model);
  for (LayerSpec& layer : model.layers) {
    layer.feed_forward.fused_gate_up = true;
  }
  return model;
}

constexpr KeyValue kGlm4Example[] = {{"rope.dimension_count", 32u}};

}  // namespace

extern constexpr Architecture kGlm4{.read = read_glm4, .example = kGlm4Example};

}  // namespace tenon
