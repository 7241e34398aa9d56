// Maple (general.architecture "maple").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// DeepGrove 2026 (as in llama.cpp): norms of each query and key head, positions only in layers
/// with a window, limits of the experts' gates before their activation.
ModelSpec read_maple(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_windows(keys, 4, SeesAll::Last, model);
  read_window_rope(keys, model);
  read_experts(keys, {}, model);
  read_early_gate_limits(keys, model);
  for (LayerSpec& layer : model.layers) {
    AttentionSpec& attention = layer.attention;
    attention.qk_norm = QkNorm::EachHead;
    if (attention.window == 0) attention.rope = {};
  }
  return model;
}

constexpr int32_t kMapleWindows[] = {1, 1, 0, 1};
constexpr KeyValue kMapleExample[] = {
    {"attention.sliding_window", 16u},
    {"attention.sliding_window_pattern", std::span<const int32_t>(kMapleWindows)},
    {"rope.dimension_count", 32u},
    {"swiglu_clamp_exp", 7.0f},
    {"expert_count", 8u},
    {"expert_used_count", 3u},
    {"expert_feed_forward_length", 256u}};

}  // namespace

extern constexpr Architecture kMaple{.read = read_maple, .example = kMapleExample};

}  // namespace tenon
