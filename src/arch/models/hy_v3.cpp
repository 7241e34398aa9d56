// Hunyuan 3 (general.architecture "hy_v3").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Tencent 2026, Hy3 (as in models/hy_v3 of `transformers`): norms on query and key heads, experts
/// selected by sigmoids with a balancing bias, one of them shared. The last blocks predict further
/// tokens.
ModelSpec read_hy_v3(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_experts(keys, {.sigmoid = true}, model);
  for (LayerSpec& layer : model.layers) {
    layer.attention.qk_norm = QkNorm::EachHead;
    ExpertSpec& experts = layer.feed_forward.experts;
    experts.shared_width =
        keys.count_or("expert_shared_feed_forward_length", experts.width, 0, SpecLimits::kWidth);
  }
  part_prediction_layers(keys, model);
  return model;
}

constexpr KeyValue kHyV3Example[] = {{"leading_dense_block_count", 1u},
                                     {"expert_count", 8u},
                                     {"expert_used_count", 3u},
                                     {"expert_feed_forward_length", 256u},
                                     {"expert_weights_scale", 2.5f}};

}  // namespace

extern constexpr Architecture kHyV3{
    .read = read_hy_v3, .adapt = drop_missing_experts, .example = kHyV3Example};

}  // namespace tenon
