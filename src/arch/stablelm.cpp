// StableLM 2 1.6B and StableLM 3B (general.architecture "stablelm").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Bellagente et al. 2024: layer norms with biases, a quarter of each head rotated. The 12B model,
/// whose heads have norm weights of their own, has tensors that are not asked for here.
ModelSpec read_stablelm(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .norm = NormKind::Layer});
  for (LayerSpec& layer : model.layers) layer.attention.qkv_bias = Presence::Optional;
  return model;
}

constexpr KeyValue kStableLmExample[] = {{"rope.dimension_count", 16u}};

}  // namespace

extern constexpr Architecture kStableLm{.read = read_stablelm, .example = kStableLmExample};

}  // namespace tenon
