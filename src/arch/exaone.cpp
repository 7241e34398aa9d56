// EXAONE 3 and 3.5 (general.architecture "exaone").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// LG AI Research 2024, arXiv 2408.03541: Llama.
ModelSpec read_exaone(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  for (LayerSpec& layer : model.layers) {
    layer.attention.qkv_bias = Presence::Optional;
    layer.attention.output_bias = Presence::Optional;
  }
  return model;
}

}  // namespace

extern constexpr Architecture kExaone{.read = read_exaone};

}  // namespace tenon
