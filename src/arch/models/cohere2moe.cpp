// North and Command A with experts (general.architecture "cohere2moe").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Cohere 2026 (as in models/cohere2_moe of `transformers`): Command A with experts in all but the
/// first layers; the results of routed and shared experts are averaged. Layers without a window do
/// not rotate, unless they are dense.
ModelSpec read_cohere2moe(const Keys& keys) {
  const bool is_rms = keys.contains("attention.layer_norm_rms_epsilon");
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT,
                                        .norm = is_rms ? NormKind::Rms : NormKind::LayerUnbiased});
  drop_prediction_layers(keys, model);
  read_windows(keys, 4, SeesAll::First, model);
  read_experts(keys, {.normalised = false, .sigmoid = true}, model);
  read_shared_expert(keys, model);
  model.logit_scale = keys.scale_or("logit_scale", 1.0);
  for (LayerSpec& layer : model.layers) {
    layer.parallel = true;
    layer.feed_forward_norm = {};
    ExpertSpec& experts = layer.feed_forward.experts;
    if (experts.shared_width > 0) experts.sum_scale = 0.5f;
    if (layer.attention.window == 0 && experts.count > 0) layer.attention.rope = {};
  }
  return model;
}

constexpr KeyValue kCohere2MoeExample[] = {{"logit_scale", 0.25f},
                                           {"attention.sliding_window", 16u},
                                           {"leading_dense_block_count", 1u},
                                           {"expert_count", 8u},
                                           {"expert_used_count", 3u},
                                           {"expert_feed_forward_length", 256u},
                                           {"expert_shared_count", 2u}};

}  // namespace

extern constexpr Architecture kCohere2Moe{.read = read_cohere2moe, .example = kCohere2MoeExample};

}  // namespace tenon
