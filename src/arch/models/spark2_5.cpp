// Spark X2.5 (general.architecture "spark2_5").
#include "arch/architecture.h"
#include "arch/keys/activation_key.h"

namespace tenon {
namespace {

/// iFlytek 2026 (as in llama.cpp): windows with their own rope, a gate per head, and a gated
/// feed-forward with GELU.
ModelSpec read_spark2_5(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_windows(keys, 4, SeesAll::Last, model);
  read_window_rope(keys, model);
  for (LayerSpec& layer : model.layers) {
    layer.attention.gate.columns = layer.attention.heads;
    layer.feed_forward.activation = read_activation(keys, TENON_ACTIVATION_GELU_TANH, true);
  }
  return model;
}

constexpr int32_t kSpark25Windows[] = {1, 1, 0, 1};
constexpr KeyValue kSpark25Example[] = {
    {"attention.sliding_window", 16u},
    {"attention.sliding_window_pattern", std::span<const int32_t>(kSpark25Windows)},
    {"rope.dimension_count", 32u},
    {"rope.dimension_count_swa", 16u},
    {"rope.freq_base_swa", 5000.0f}};

}  // namespace

extern constexpr Architecture kSpark25{.read = read_spark2_5, .example = kSpark25Example};

}  // namespace tenon
