// GroveMoE (general.architecture "grovemoe").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Wu et al. 2025, arXiv 2508.07785: neighbouring experts form groups, each with a small adjugate
/// expert, which joins a selected expert with that expert's weight.
ModelSpec read_grovemoe(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_experts(keys, {}, model);
  AdjugateSpec adjugate;
  adjugate.group = keys.count("experts_per_group", 1, SpecLimits::kExperts);
  adjugate.width = keys.count("expert_chunk_feed_forward_length", 1, SpecLimits::kWidth);
  adjugate.scale = keys.scale_or("expert_group_scale", 0.05);
  for (LayerSpec& layer : model.layers) {
    layer.attention.qk_norm = QkNorm::EachHead;
    ExpertSpec& experts = layer.feed_forward.experts;
    if (experts.count % adjugate.group != 0) {
      keys.refuse(Code::Format, "experts_per_group", "is {}, which does not divide {} experts",
                  adjugate.group, experts.count);
    }
    experts.adjugate = adjugate;
  }
  return model;
}

constexpr KeyValue kGroveMoeExample[] = {{"expert_count", 8u},
                                         {"expert_used_count", 3u},
                                         {"expert_feed_forward_length", 256u},
                                         {"experts_per_group", 2u},
                                         {"expert_chunk_feed_forward_length", 256u},
                                         {"expert_group_scale", 0.375f}};

}  // namespace

extern constexpr Architecture kGroveMoe{.read = read_grovemoe, .example = kGroveMoeExample};

}  // namespace tenon
