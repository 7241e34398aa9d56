// Nemotron-4 and Minitron (general.architecture "nemotron").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Parmar et al. 2024: layer norms with biases, half of each head rotated, squared ReLU instead of
/// gates.
ModelSpec read_nemotron(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .norm = NormKind::Layer});
  for (LayerSpec& layer : model.layers) {
    layer.feed_forward.kind = FeedForwardKind::Plain;
    layer.feed_forward.activation = TENON_ACTIVATION_RELU_SQUARED;
  }
  return model;
}

constexpr KeyValue kNemotronExample[] = {{"rope.dimension_count", 32u}};

}  // namespace

extern constexpr Architecture kNemotron{.read = read_nemotron, .example = kNemotronExample};

}  // namespace tenon
