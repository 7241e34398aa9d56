// DeepSeekMoE (general.architecture "deepseek").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Dai et al. 2024, arXiv 2401.06066: many narrow experts and some shared ones; a token's weights
/// are those of the softmax over all experts.
ModelSpec read_deepseek(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  read_experts(keys, {.normalised = false}, model);
  read_shared_expert(keys, model);
  return model;
}

constexpr KeyValue kDeepSeekExample[] = {{"expert_count", 8u},
                                         {"expert_used_count", 3u},
                                         {"expert_feed_forward_length", 256u},
                                         {"expert_shared_count", 2u},
                                         {"leading_dense_block_count", 1u}};

}  // namespace

extern constexpr Architecture kDeepSeek{.read = read_deepseek, .example = kDeepSeekExample};

}  // namespace tenon
