// Command R (general.architecture "command-r").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Layers of Command R+, which normalises each query and key head with its own weight.
constexpr size_t kLayersOfCommandRPlus = 64;

/// Cohere 2024: parallel attention and feed-forward after one layer norm without a bias.
ModelSpec read_command_r(const Keys& keys) {
  ModelSpec model =
      read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT, .norm = NormKind::LayerUnbiased});
  if (model.layers.size() >= kLayersOfCommandRPlus) {
    keys.refuse(
        Code::Unsupported, "block_count",
        "is {}: a \"command-r\" of {} layers or more (Command R+) normalises each query and "
        "key head by its own weight, which is not supported",
        model.layers.size(), kLayersOfCommandRPlus);
  }
  model.logit_scale = keys.scale_or("logit_scale", 1.0);
  for (LayerSpec& layer : model.layers) {
    layer.parallel = true;
    layer.feed_forward_norm = {};
  }
  return model;
}

constexpr KeyValue kCommandRExample[] = {{"logit_scale", 0.25f}};

}  // namespace

extern constexpr Architecture kCommandR{.read = read_command_r, .example = kCommandRExample};

}  // namespace tenon
