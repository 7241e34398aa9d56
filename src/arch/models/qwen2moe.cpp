// Qwen1.5-MoE and Qwen2-MoE (general.architecture "qwen2moe").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Yang et al. 2024, section 2.2.2: Qwen2 with experts and a gated shared one; a token's weights
/// are those of the softmax over all experts.
ModelSpec read_qwen2moe(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_window(keys, model);
  read_experts(keys, {.normalised = false}, model);
  for (LayerSpec& layer : model.layers) {
    layer.attention.qkv_bias = Presence::Required;
    ExpertSpec& experts = layer.feed_forward.experts;
    experts.shared_width = keys.count_or("expert_shared_feed_forward_length",
                                         layer.feed_forward.width, 1, SpecLimits::kWidth);
    experts.shared_gate = true;
  }
  return model;
}

constexpr KeyValue kQwen2MoeExample[] = {{"expert_count", 8u},
                                         {"expert_used_count", 2u},
                                         {"expert_feed_forward_length", 256u},
                                         {"expert_shared_feed_forward_length", 384u}};

}  // namespace

extern constexpr Architecture kQwen2Moe{.read = read_qwen2moe, .example = kQwen2MoeExample};

}  // namespace tenon
