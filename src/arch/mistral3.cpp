// Ministral 3 (general.architecture "mistral3").
#include <cmath>

#include "arch/architecture.h"

namespace tenon {
namespace {

/// Mistral AI 2025: Llama with a YaRN that may leave the magnitude alone.
ModelSpec read_mistral3(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  if (keys.number_or("attention.temperature_scale", 0.0, 0.0, 1e3) != 0.0) {
    keys.refuse(Code::Unsupported, "attention.temperature_scale",
                "is {}: queries that are scaled by their position are not supported",
                keys.number("attention.temperature_scale", 0.0, 1e3));
  }
  const double multiplier = keys.number_or("rope.scaling.yarn_log_multiplier", 0.0, 0.0, 1e3);
  for (LayerSpec& layer : model.layers) {
    RopeSpec& rope = layer.attention.rope;
    if (rope.scaling != RopeScaling::Yarn || rope.factor <= 1.0) continue;
    rope.magnitude /= 1.0 + 0.1 * multiplier * std::log(rope.factor);
  }
  return model;
}

}  // namespace

extern constexpr Architecture kMistral3{.read = read_mistral3};

}  // namespace tenon
