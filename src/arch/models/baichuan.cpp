// Baichuan and Baichuan 2 (general.architecture "baichuan").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Layers of the models with 13 billion parameters; no other key distinguishes them from those with
/// 7.
constexpr size_t kLayersOfBaichuan13B = 40;

/// Yang et al. 2023, arXiv 2309.10305, section 2: Llama; the larger model has ALiBi instead of
/// rotations.
ModelSpec read_baichuan(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  if (model.layers.size() != kLayersOfBaichuan13B) return model;
  for (LayerSpec& layer : model.layers) {
    layer.attention.rope = {};
    layer.attention.alibi = true;
  }
  return model;
}

}  // namespace

extern constexpr Architecture kBaichuan{.read = read_baichuan};

}  // namespace tenon
