// Trinity (general.architecture "afmoe").
#include <cmath>

#include "arch/architecture.h"

namespace tenon {
namespace {

/// Arcee AI 2025 (as in models/afmoe of `transformers`): norms before and after the blocks, a
/// window and positions in three of four layers, a gate on the attended values, experts selected by
/// sigmoids.
ModelSpec read_afmoe(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  add_post_norms(model);
  (void)keys.count("attention.sliding_window", 1, SpecLimits::kPositions);
  read_windows(keys, 4, SeesAll::Last, model);
  read_experts(keys, {.sigmoid = true}, model);
  read_shared_expert(keys, model);
  // 1 in models without `mup_enabled`, which files do not record.
  model.embedding_scale =
      keys.scale_or("embedding_scale", std::sqrt(static_cast<double>(model.width)));
  for (LayerSpec& layer : model.layers) {
    AttentionSpec& attention = layer.attention;
    attention.qk_norm = QkNorm::EachHead;
    attention.gate.columns = attention.heads * attention.value_dim;
    if (attention.window == 0) attention.rope = {};
  }
  return model;
}

constexpr KeyValue kAfMoeExample[] = {{"attention.sliding_window", 16u},
                                      {"leading_dense_block_count", 1u},
                                      {"expert_count", 8u},
                                      {"expert_used_count", 3u},
                                      {"expert_feed_forward_length", 256u},
                                      {"expert_shared_count", 1u},
                                      {"expert_weights_scale", 2.826f}};

}  // namespace

extern constexpr Architecture kAfMoe{.read = read_afmoe, .example = kAfMoeExample};

}  // namespace tenon
