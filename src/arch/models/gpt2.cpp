// GPT-2, StarCoder and SantaCoder (general.architecture "gpt2", "starcoder").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Radford et al. 2019: learned positions, which limit the length of a text. StarCoder (Li et al.
/// 2023, arXiv 2305.06161) has one head of keys and values, as its keys say.
ModelSpec read_gpt2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.norm = NormKind::Layer});
  model.learned_positions = true;
  for (LayerSpec& layer : model.layers) {
    layer.attention.rope = {};
    layer.attention.fused_qkv = true;
    layer.attention.qkv_bias = Presence::Required;
    layer.attention.output_bias = Presence::Required;
    set_plain_gelu(keys, layer);
  }
  return model;
}

}  // namespace

extern constexpr Architecture kGpt2{.read = read_gpt2};
extern constexpr Architecture kStarCoder{.read = read_gpt2};

}  // namespace tenon
