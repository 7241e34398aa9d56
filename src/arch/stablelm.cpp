// StableLM 2 1.6B and StableLM 3B (general.architecture "stablelm").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Bellagente et al. 2024: layer norms with biases, a quarter of each head rotated.
ModelSpec read_stablelm(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .norm = NormKind::Layer});
  for (LayerSpec& layer : model.layers) layer.attention.qkv_bias = Presence::Optional;
  return model;
}

/// The one of 12 billion parameters.
Slot build_stablelm(BuildContext& context) {
  context.tensors.refuse_tensor("blk.0.attn_q_norm.weight",
                                "norms with weights for each head are not supported");
  return build_decoder(context);
}

constexpr KeyValue kStableLmExample[] = {{"rope.dimension_count", 16u}};

}  // namespace

extern constexpr Architecture kStableLm{.read = read_stablelm, .build = build_stablelm, .example = kStableLmExample};

}  // namespace tenon
