// StarCoder and SantaCoder (general.architecture "starcoder").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Li et al. 2023, arXiv 2305.06161: GPT-2 with one head of keys and values.
ModelSpec read_starcoder(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.norm = NormKind::Layer});
  model.learned_positions = true;
  for (LayerSpec& layer : model.layers) {
    layer.attention.rope = {};
    layer.attention.fused_qkv = true;
    layer.attention.qkv_bias = Presence::Required;
    layer.attention.output_bias = Presence::Required;
    set_plain_gelu(layer);
  }
  return model;
}

}  // namespace

extern constexpr Architecture kStarCoder{.read = read_starcoder};

}  // namespace tenon
