// MiMo-V2-Flash and its successors (general.architecture "mimo2").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Xiaomi 2026, arXiv 2601.02780: windows with sinks, more KV heads and their own rope in most
/// layers, values narrower than keys, experts selected by sigmoids. The last blocks predict further
/// tokens.
ModelSpec read_mimo2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_windows(keys, 6, SeesAll::Last, model);
  read_window_rope(keys, model);
  read_experts(keys, {.sigmoid = true}, model);
  const float scale = keys.scale_or("attention.value_scale", 1.0);
  for (LayerSpec& layer : model.layers) {
    layer.attention.sinks = Presence::Optional;
    layer.attention.attended_scale = scale;
  }
  part_prediction_layers(keys, model);
  model.prediction.reads_normed = model.prediction.hands_on_normed = false;
  return model;
}

constexpr int32_t kMiMo2KvHeads[] = {1, 2, 2, 1};
constexpr int32_t kMiMo2Windows[] = {0, 1, 1, 0};
constexpr KeyValue kMiMo2Example[] = {
    {"attention.head_count_kv", std::span<const int32_t>(kMiMo2KvHeads)},
    {"attention.value_length", 32u},
    {"attention.value_scale", 0.707f},
    {"attention.sliding_window", 16u},
    {"attention.sliding_window_pattern", std::span<const int32_t>(kMiMo2Windows)},
    {"rope.dimension_count", 32u},
    {"rope.freq_base_swa", 10000.0f},
    {"leading_dense_block_count", 1u},
    {"expert_count", 8u},
    {"expert_used_count", 3u},
    {"expert_feed_forward_length", 256u}};

}  // namespace

extern constexpr Architecture kMiMo2{
    .read = read_mimo2, .adapt = drop_missing_experts, .example = kMiMo2Example};

}  // namespace tenon
