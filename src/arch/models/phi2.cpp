// Phi-1 to Phi-2 (general.architecture "phi2").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Microsoft 2023: attention and feed-forward read one norm; biases everywhere; GELU.
ModelSpec read_phi2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .norm = NormKind::Layer});
  model.output_bias = Presence::Required;
  for (LayerSpec& layer : model.layers) {
    layer.parallel = true;
    layer.feed_forward_norm = {};
    layer.attention.qkv_bias = Presence::Required;
    layer.attention.output_bias = Presence::Required;
    set_plain_gelu(keys, layer);
  }
  return model;
}

constexpr KeyValue kPhi2Example[] = {{"rope.dimension_count", 32u}};

}  // namespace

extern constexpr Architecture kPhi2{.read = read_phi2, .example = kPhi2Example};

}  // namespace tenon
