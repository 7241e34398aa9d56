// Ling 2 (general.architecture "bailingmoe2").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Ling Team 2025, arXiv 2510.22115: fused projections, norms on heads, half of each rotated,
/// experts selected by groups and sigmoids.
ModelSpec read_bailingmoe2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  drop_prediction_layers(keys, model);
  read_experts(keys, {.normalised = false, .sigmoid = true}, model);
  read_shared_expert(keys, model);
  for (LayerSpec& layer : model.layers) {
    layer.attention.fused_qkv = true;
    layer.attention.qk_norm = QkNorm::EachHead;
  }
  return model;
}

constexpr KeyValue kBailingMoe2Example[] = {{"rope.dimension_count", 32u},
                                            {"leading_dense_block_count", 1u},
                                            {"expert_count", 16u},
                                            {"expert_used_count", 4u},
                                            {"expert_feed_forward_length", 256u},
                                            {"expert_shared_count", 1u},
                                            {"expert_group_count", 4u},
                                            {"expert_group_used_count", 2u}};

}  // namespace

extern constexpr Architecture kBailingMoe2{.read = read_bailingmoe2,
                                           .example = kBailingMoe2Example};

}  // namespace tenon
