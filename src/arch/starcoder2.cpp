// StarCoder 2 (general.architecture "starcoder2").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// BigCode 2024, arXiv 2402.19173: layer norms and biases everywhere, a feed-forward of GELU.
ModelSpec read_starcoder2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .norm = NormKind::Layer});
  read_window(keys, model);
  for (LayerSpec& layer : model.layers) {
    layer.attention.qkv_bias = Presence::Optional;
    layer.attention.output_bias = Presence::Optional;
    set_plain_gelu(layer);
  }
  return model;
}

}  // namespace

extern constexpr Architecture kStarCoder2{.read = read_starcoder2};

}  // namespace tenon
