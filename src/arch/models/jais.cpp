// Jais (general.architecture "jais").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Sengupta et al. 2023, arXiv 2308.16149: ALiBi, gated feed-forwards with biases, scores divided
/// by the size of a head, not its root.
ModelSpec read_jais(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.norm = NormKind::Layer});
  const double bias = keys.number_or("attention.max_alibi_bias", 8.0, 0.0, 1e6);
  if (bias != 8.0) {
    keys.refuse(Code::Unsupported, "attention.max_alibi_bias", "is {}; known is 8", bias);
  }
  for (LayerSpec& layer : model.layers) {
    layer.attention.rope = {};
    layer.attention.alibi = true;
    layer.attention.scale = 1.0f / static_cast<float>(layer.attention.key_dim);
    layer.attention.fused_qkv = true;
    layer.attention.qkv_bias = Presence::Required;
    layer.attention.output_bias = Presence::Required;
    layer.feed_forward.bias = Presence::Required;
  }
  return model;
}

}  // namespace

extern constexpr Architecture kJais{.read = read_jais};

}  // namespace tenon
