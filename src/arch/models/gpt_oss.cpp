// gpt-oss (general.architecture "gpt-oss").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// OpenAI 2025, arXiv 2508.10925: a window in every other layer, a sink per head, biases
/// everywhere, experts with a clamped SwiGLU whose SiLU is x sigmoid(1.702 x).
ModelSpec read_gpt_oss(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_windows(keys, 2, SeesAll::Last, model);
  read_experts(keys, {}, model);
  for (LayerSpec& layer : model.layers) {
    layer.attention.qkv_bias = Presence::Required;
    layer.attention.output_bias = Presence::Required;
    layer.attention.sinks = Presence::Required;
    layer.feed_forward_norm.name = "post_attention_norm";
    layer.feed_forward.experts.gate = {.alpha = 1.702f, .limit = 7.0f, .up_offset = 1.0f};
    layer.feed_forward.experts.bias = Presence::Required;
  }
  return model;
}

constexpr KeyValue kGptOssExample[] = {{"attention.sliding_window", 16u},
                                       {"expert_count", 8u},
                                       {"expert_used_count", 3u},
                                       {"expert_feed_forward_length", 256u}};

}  // namespace

extern constexpr Architecture kGptOss{.read = read_gpt_oss, .example = kGptOssExample};

}  // namespace tenon
