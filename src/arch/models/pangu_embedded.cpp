// openPangu-Embedded (general.architecture "pangu-embedded").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Huawei 2025, arXiv 2505.22375: Llama with biases in attention.
ModelSpec read_pangu_embedded(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  model.output_bias = Presence::Optional;
  for (LayerSpec& layer : model.layers) {
    layer.attention.output_bias = Presence::Required;
  }
  return model;
}

}  // namespace

extern constexpr Architecture kPanguEmbedded{.read = read_pangu_embedded};

}  // namespace tenon
