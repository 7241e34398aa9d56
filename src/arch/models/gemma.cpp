// Gemma 1 (general.architecture "gemma").
#include <cmath>

#include "arch/architecture.h"

namespace tenon {
namespace {

/// Mesnard et al. 2024: embeddings times the square root of the width, gates with GELU. Norm
/// weights in these files are the factors themselves, not their difference from 1.
ModelSpec read_gemma(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  model.embedding_scale = std::sqrt(static_cast<float>(model.width));
  for (LayerSpec& layer : model.layers) {
    layer.feed_forward.activation = TENON_ACTIVATION_GELU_TANH;
  }
  return model;
}

}  // namespace

extern constexpr Architecture kGemma{.read = read_gemma};

}  // namespace tenon
