// StableLM 2 1.6B and StableLM 3B (general.architecture "stablelm").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Bellagente et al. 2024: layer norms with biases, a quarter of each head rotated.
ModelSpec read_stablelm(const Keys& keys) {
  return read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .norm = NormKind::Layer});
}

/// The model with 12 billion parameters normalises single heads, and its feed-forward reads
/// attention's input.
void adapt_stablelm(const ModelFile& file, ModelSpec& model) {
  for (LayerSpec& layer : model.layers) {
    if (file.find("blk.0.attn_q_norm.weight") != nullptr) {
      layer.attention.qk_norm = QkNorm::LayerOfHead;
    }
    if (file.find("blk.0.ffn_norm.weight") != nullptr) continue;
    layer.feed_forward_norm = {};
    layer.parallel = true;
  }
}

constexpr KeyValue kStableLmExample[] = {{"rope.dimension_count", 16u}};

}  // namespace

extern constexpr Architecture kStableLm{
    .read = read_stablelm, .adapt = adapt_stablelm, .example = kStableLmExample};

}  // namespace tenon
