// Step 3.5 and 3.7 Flash (general.architecture "step35").
#include <fmt/format.h>

#include "arch/architecture.h"

namespace tenon {
namespace {

/// StepFun 2026, arXiv 2602.10604: windows with more heads and full rotation in most layers, half
/// of the values rotated in the others, a gate per head, limits of SwiGLU by layer. The last blocks
/// predict further tokens.
ModelSpec read_step35(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_windows(keys, 4, SeesAll::First, model);
  read_window_rope(keys, model);
  read_experts(keys, {.sigmoid = true}, model);
  read_shared_expert(keys, model);
  read_gate_limits(keys, model);
  for (LayerSpec& layer : model.layers) {
    AttentionSpec& attention = layer.attention;
    attention.qk_norm = QkNorm::MayBeEachHead;
    attention.gate.columns = attention.heads;
    attention.rope.num_divisors = attention.rope.dimensions / 2;
    if (attention.window > 0) {
      attention.rope.divisors = {};
    } else {
      attention.rope.dimensions = attention.rope.dimensions / 4 * 2;
    }
  }
  part_prediction_layers(keys, model);
  model.prediction.reads_normed = model.prediction.hands_on_normed = false;
  return model;
}

/// Some files have no gates.
void adapt_step35(const ModelFile& file, ModelSpec& model) {
  drop_missing_experts(file, model);
  const std::vector<LayerSpec*> blocks = model.blocks();
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (file.find(fmt::format("blk.{}.attn_gate.weight", i)) == nullptr) {
      blocks[i]->attention.gate = {};
    }
  }
}

constexpr int32_t kStep35Heads[] = {4, 6, 6, 4};
constexpr int32_t kStep35Windows[] = {0, 1, 1, 0};
constexpr KeyValue kStep35Example[] = {
    {"attention.head_count", std::span<const int32_t>(kStep35Heads)},
    {"attention.sliding_window", 16u},
    {"attention.sliding_window_pattern", std::span<const int32_t>(kStep35Windows)},
    {"rope.freq_base_swa", 10000.0f},
    {"swiglu_clamp_exp", 3.0f},
    {"swiglu_clamp_shexp", 4.0f},
    {"leading_dense_block_count", 1u},
    {"expert_count", 8u},
    {"expert_used_count", 3u},
    {"expert_feed_forward_length", 256u},
    {"expert_shared_feed_forward_length", 128u}};

}  // namespace

extern constexpr Architecture kStep35{
    .read = read_step35, .adapt = adapt_step35, .example = kStep35Example};

}  // namespace tenon
