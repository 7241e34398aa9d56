// Falcon (general.architecture "falcon").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// TII 2023, arXiv 2311.16867: attention and feed-forward read one norm; attention reads
/// "attn_norm_2" if present.
ModelSpec read_falcon(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .norm = NormKind::Layer});
  for (LayerSpec& layer : model.layers) {
    layer.parallel = true;
    layer.feed_forward_norm = {};
    layer.attention.fused_qkv = true;
    set_plain_gelu(keys, layer);
    layer.feed_forward.bias = Presence::Absent;
  }
  return model;
}

/// Detects the variant by its tensors.
void adapt_falcon(const ModelFile& file, ModelSpec& model) {
  if (file.find("blk.0.attn_norm_2.weight") == nullptr) return;
  for (LayerSpec& layer : model.layers) {
    layer.feed_forward_norm = layer.attention_norm;
    layer.attention_norm.name = "attn_norm_2";
  }
}

}  // namespace

extern constexpr Architecture kFalcon{.read = read_falcon, .adapt = adapt_falcon};

}  // namespace tenon
