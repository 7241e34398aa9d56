// GLM-4.5 to 4.7 (general.architecture "glm4moe").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Zhipu 2025, arXiv 2508.06471: experts selected by sigmoids with a balancing bias. The last
/// blocks predict further tokens.
ModelSpec read_glm4moe(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  drop_prediction_layers(keys, model);
  read_experts(keys, {.normalised = false, .sigmoid = true}, model);
  read_shared_expert(keys, model);
  for (LayerSpec& layer : model.layers) {
    layer.attention.qk_norm = QkNorm::MayBeEachHead;
    layer.feed_forward_norm.name = "post_attention_norm";
  }
  return model;
}

constexpr KeyValue kGlm4MoeExample[] = {{"rope.dimension_count", 32u},
                                        {"leading_dense_block_count", 1u},
                                        {"expert_count", 8u},
                                        {"expert_used_count", 3u},
                                        {"expert_feed_forward_length", 256u},
                                        {"expert_shared_count", 1u}};

}  // namespace

extern constexpr Architecture kGlm4Moe{.read = read_glm4moe, .example = kGlm4MoeExample};

}  // namespace tenon
