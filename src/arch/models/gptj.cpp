// GPT-J (general.architecture "gptj").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Wang and Komatsuzaki 2021: attention and feed-forward read one norm, a part of each head is
/// rotated, and logits have a bias.
ModelSpec read_gptj(const Keys& keys) {
  ModelSpec model =
      read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT, .norm = NormKind::Layer});
  model.output_bias = Presence::Optional;
  for (LayerSpec& layer : model.layers) {
    layer.parallel = true;
    layer.feed_forward_norm = {};
    set_plain_gelu(keys, layer);
  }
  return model;
}

constexpr KeyValue kGptJExample[] = {{"rope.dimension_count", 16u}};

}  // namespace

extern constexpr Architecture kGptJ{.read = read_gptj, .example = kGptJExample};

}  // namespace tenon
