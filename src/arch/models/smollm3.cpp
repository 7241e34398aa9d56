// SmolLM3 (general.architecture "smollm3").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Hugging Face 2025: Llama whose every fourth layer does not rotate ("NoPE", Yang et al. 2025).
ModelSpec read_smollm3(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  for (size_t layer = 3; layer < model.layers.size(); layer += 4) {
    model.layers[layer].attention.rope = {};
  }
  return model;
}

}  // namespace

extern constexpr Architecture kSmolLm3{.read = read_smollm3};

}  // namespace tenon
