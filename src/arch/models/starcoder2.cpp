// StarCoder 2 (general.architecture "starcoder2").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// BigCode 2024, arXiv 2402.19173: layer norms and biases everywhere, a feed-forward with GELU.
ModelSpec read_starcoder2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .norm = NormKind::Layer});
  read_window(keys, model);
  for (LayerSpec& layer : model.layers) {
    set_plain_gelu(keys, layer);
  }
  return model;
}

}  // namespace

extern constexpr Architecture kStarCoder2{.read = read_starcoder2};

}  // namespace tenon
