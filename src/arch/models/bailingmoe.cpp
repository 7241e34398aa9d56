// Ling 1 (general.architecture "bailingmoe").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Ling Team 2025: a mixture of experts, and shared experts in one matrix.
ModelSpec read_bailingmoe(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  read_experts(keys, {.normalised = false}, model);
  read_shared_expert(keys, model);
  return model;
}

constexpr KeyValue kBailingMoeExample[] = {{"expert_count", 8u},
                                           {"expert_used_count", 3u},
                                           {"expert_feed_forward_length", 256u},
                                           {"expert_shared_count", 2u},
                                           {"expert_weights_norm", true}};

}  // namespace

extern constexpr Architecture kBailingMoe{.read = read_bailingmoe, .example = kBailingMoeExample};

}  // namespace tenon
