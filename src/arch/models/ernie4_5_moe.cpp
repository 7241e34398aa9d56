// ERNIE 4.5 with experts (general.architecture "ernie4_5-moe").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Baidu 2025: a softmax router whose bias only affects the choice, and a shared expert.
ModelSpec read_ernie4_5_moe(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  read_experts(keys, {}, model);
  read_shared_expert(keys, model);
  const uint32_t step = keys.count_or("interleave_moe_layer_step", 1, 1, SpecLimits::kLayers);
  for (size_t layer = 0; layer < model.layers.size(); ++layer) {
    if ((layer + 1) % step != 0) model.layers[layer].feed_forward.experts = {};
  }
  return model;
}

constexpr KeyValue kErnie45MoeExample[] = {{"leading_dense_block_count", 1u},
                                           {"expert_count", 8u},
                                           {"expert_used_count", 3u},
                                           {"expert_feed_forward_length", 256u},
                                           {"expert_shared_feed_forward_length", 384u}};

}  // namespace

extern constexpr Architecture kErnie45Moe{.read = read_ernie4_5_moe, .example = kErnie45MoeExample};

}  // namespace tenon
