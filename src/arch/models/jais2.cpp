// Jais 2 (general.architecture "jais2").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Inception and MBZUAI 2025, model card of Jais-2: layer norms, biases everywhere, squared ReLU
/// instead of gates.
ModelSpec read_jais2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .norm = NormKind::Layer});
  for (LayerSpec& layer : model.layers) {
    layer.attention.qkv_bias = Presence::Required;
    layer.attention.output_bias = Presence::Required;
    layer.feed_forward.kind = FeedForwardKind::Plain;
    layer.feed_forward.activation = TENON_ACTIVATION_RELU_SQUARED;
    layer.feed_forward.bias = Presence::Required;
  }
  return model;
}

}  // namespace

extern constexpr Architecture kJais2{.read = read_jais2};

}  // namespace tenon
