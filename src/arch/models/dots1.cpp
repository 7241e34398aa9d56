// dots.llm1 (general.architecture "dots1").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// rednote 2025, arXiv 2506.05767: DeepSeek V3's experts over attention with normed queries and
/// keys.
ModelSpec read_dots1(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_experts(keys, {.normalised = false}, model);
  read_shared_expert(keys, model);
  for (LayerSpec& layer : model.layers) layer.attention.qk_norm = QkNorm::EachHead;
  return model;
}

constexpr KeyValue kDots1Example[] = {
    {"expert_count", 8u},        {"expert_used_count", 3u},  {"expert_feed_forward_length", 256u},
    {"expert_shared_count", 2u}, {"expert_gating_func", 2u}, {"leading_dense_block_count", 1u}};

}  // namespace

extern constexpr Architecture kDots1{.read = read_dots1, .example = kDots1Example};

}  // namespace tenon
