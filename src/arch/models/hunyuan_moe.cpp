// Hunyuan with experts (general.architecture "hunyuan-moe").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Tencent 2025: norms on query and key heads after the rotation; a shared expert.
ModelSpec read_hunyuan_moe(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_experts(keys, {}, model);
  const uint32_t shared = keys.count("expert_shared_feed_forward_length", 1, SpecLimits::kWidth);
  for (LayerSpec& layer : model.layers) {
    layer.attention.qk_norm = QkNorm::EachHead;
    layer.attention.rope_before_norm = true;
    layer.feed_forward.experts.shared_width = shared;
  }
  return model;
}

constexpr KeyValue kHunyuanMoeExample[] = {
    {"expert_count", 8u}, {"expert_used_count", 3u}, {"expert_shared_feed_forward_length", 384u}};

}  // namespace

extern constexpr Architecture kHunyuanMoe{.read = read_hunyuan_moe, .example = kHunyuanMoeExample};

}  // namespace tenon
