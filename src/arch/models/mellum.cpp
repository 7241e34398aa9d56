// Mellum 2 (general.architecture "mellum").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// JetBrains 2026 (as in models/mellum of `transformers`): Qwen3 with experts, windows in three of
/// four layers; YaRN scales only the others.
ModelSpec read_mellum(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_windows(keys, 4, SeesAll::Last, model);
  read_window_rope(keys, model);
  read_experts(keys, {}, model);
  for (LayerSpec& layer : model.layers) layer.attention.qk_norm = QkNorm::EachHead;
  return model;
}

constexpr KeyValue kMellumExample[] = {{"attention.sliding_window", 16u},
                                       {"rope.freq_base_swa", 5000.0f},
                                       {"expert_count", 8u},
                                       {"expert_used_count", 3u},
                                       {"expert_feed_forward_length", 256u}};

}  // namespace

extern constexpr Architecture kMellum{.read = read_mellum, .example = kMellumExample};

}  // namespace tenon
