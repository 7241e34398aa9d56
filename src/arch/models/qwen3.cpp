// Qwen3, dense (general.architecture "qwen3").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Yang et al. 2025: no biases, an RMS norm on every query and key head before the rotation.
ModelSpec read_qwen3(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_window(keys, model);
  for (LayerSpec& layer : model.layers) layer.attention.qk_norm = QkNorm::EachHead;
  return model;
}

}  // namespace

extern constexpr Architecture kQwen3{.read = read_qwen3};

}  // namespace tenon
