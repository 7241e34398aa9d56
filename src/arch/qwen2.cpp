// Qwen2 and Qwen2.5 (general.architecture "qwen2").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Yang et al. 2024: biases on queries, keys and values; a rotation's pairs are half a head apart.
ModelSpec read_qwen2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_window(keys, model);
  model.output_bias = Presence::Optional;
  for (LayerSpec& layer : model.layers) layer.attention.qkv_bias = Presence::Required;
  return model;
}

}  // namespace

extern constexpr Architecture kQwen2{.read = read_qwen2};

}  // namespace tenon
