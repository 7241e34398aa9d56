// BLOOM (general.architecture "bloom").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// BigScience 2022, arXiv 2211.05100, section 3.2: ALiBi, a norm after the embedding, biases
/// everywhere.
ModelSpec read_bloom(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.norm = NormKind::Layer});
  model.embedding_norm = {"token_embd_norm", NormKind::Layer, model.output_norm.epsilon};
  for (LayerSpec& layer : model.layers) {
    layer.attention.rope = {};
    layer.attention.alibi = true;
    layer.attention.fused_qkv = true;
    layer.attention.qkv_bias = Presence::Required;
    layer.attention.output_bias = Presence::Required;
    set_plain_gelu(keys, layer);
  }
  return model;
}

}  // namespace

extern constexpr Architecture kBloom{.read = read_bloom};

}  // namespace tenon
