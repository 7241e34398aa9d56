// GLM-4 of 2025 (general.architecture "glm4").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Zhipu 2025: norms before and after the blocks, half of each head rotated, gate and up fused.
ModelSpec read_glm4(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  for (LayerSpec& layer : model.layers) {
    const NormSpec& norm = layer.attention_norm;
    layer.attention_post_norm = {"post_attention_norm", norm.kind, norm.epsilon};
    layer.feed_forward_post_norm = {"post_ffw_norm", norm.kind, norm.epsilon};
    layer.attention.qkv_bias = Presence::Optional;
    layer.feed_forward.fused_gate_up = true;
  }
  return model;
}

constexpr KeyValue kGlm4Example[] = {{"rope.dimension_count", 32u}};

}  // namespace

extern constexpr Architecture kGlm4{.read = read_glm4, .example = kGlm4Example};

}  // namespace tenon
