// Granite 3, dense (general.architecture "granite").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// IBM 2024: Llama with the multipliers of maximal update parametrisation (Yang et al. 2022). Some
/// models have no positions.
ModelSpec read_granite(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  read_multipliers(keys, {}, model);
  if (!keys.flag("rope.scaling.finetuned").value_or(true)) {
    for (LayerSpec& layer : model.layers) layer.attention.rope = {};
  }
  return model;
}

constexpr KeyValue kGraniteExample[] = {{"embedding_scale", 12.0f},
                                        {"residual_scale", 0.35f},
                                        {"attention.scale", 0.11f},
                                        {"logit_scale", 4.0f}};

}  // namespace

extern constexpr Architecture kGranite{.read = read_granite, .example = kGraniteExample};

}  // namespace tenon
