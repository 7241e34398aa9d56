// K-EXAONE (general.architecture "exaone-moe").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// LG AI Research 2025: EXAONE 4's windows and positions, but norms before the blocks, and experts
/// selected by sigmoids.
ModelSpec read_exaone_moe(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  drop_prediction_layers(keys, model);
  read_windows(keys, 4, SeesAll::Last, model);
  read_experts(keys, {.normalised = false, .sigmoid = true}, model);
  read_shared_expert(keys, model);
  for (LayerSpec& layer : model.layers) {
    layer.attention.qk_norm = QkNorm::EachHead;
    if (layer.attention.window == 0) layer.attention.rope = {};
  }
  return model;
}

constexpr KeyValue kExaoneMoeExample[] = {{"block_count", 4u},
                                          {"attention.sliding_window", 16u},
                                          {"leading_dense_block_count", 1u},
                                          {"expert_count", 8u},
                                          {"expert_used_count", 3u},
                                          {"expert_feed_forward_length", 256u},
                                          {"expert_shared_count", 1u}};

}  // namespace

extern constexpr Architecture kExaoneMoe{.read = read_exaone_moe, .example = kExaoneMoeExample};

}  // namespace tenon
