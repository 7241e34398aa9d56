// OLMo 2 and 3 (general.architecture "olmo2").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Walsh et al. 2024: norms after the blocks instead of before them, and over whole rows of queries
/// and keys. OLMo 3 has windows in three of four layers, and YaRN in the fourth.
ModelSpec read_olmo2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  add_post_norms(model);
  read_windows(keys, 4, SeesAll::Last, model);
  for (LayerSpec& layer : model.layers) {
    layer.attention_norm = {};
    layer.feed_forward_norm = {};
    layer.attention.qk_norm = QkNorm::WholeRow;
    if (layer.attention.window > 0) layer.attention.rope = layer.attention.rope.unscaled();
  }
  return model;
}

constexpr KeyValue kOlmo2Example[] = {{"attention.sliding_window", 16u}};

}  // namespace

extern constexpr Architecture kOlmo2{.read = read_olmo2, .example = kOlmo2Example};

}  // namespace tenon
