// Arcee AFM (general.architecture "arcee").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Arcee 2025, model card of AFM-4.5B: Llama with squared ReLU instead of gates.
ModelSpec read_arcee(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  for (LayerSpec& layer : model.layers) {
    layer.attention.scale = keys.scale_or("attention.scale", layer.attention.scale);
    layer.feed_forward.kind = FeedForwardKind::Plain;
    layer.feed_forward.activation = TENON_ACTIVATION_RELU_SQUARED;
  }
  return model;
}

}  // namespace

extern constexpr Architecture kArcee{.read = read_arcee};

}  // namespace tenon
