// EXAONE 4 (general.architecture "exaone4").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Layers of the 32B model, the only published one with windows. Its files may not say which
/// layers.
constexpr size_t kLayersOfExaone4At32b = 64;

/// LG AI Research 2025: norms after the blocks and on query and key heads. The 32B model has a
/// window in three of four layers, and rotates only in those.
ModelSpec read_exaone4(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  add_post_norms(model);
  const bool windows = model.layers.size() == kLayersOfExaone4At32b ||
                       keys.is_list("attention.sliding_window_pattern");
  if (windows) read_windows(keys, 4, SeesAll::Last, model);
  for (LayerSpec& layer : model.layers) {
    layer.attention_norm = {};
    layer.feed_forward_norm = {};
    layer.attention.qk_norm = QkNorm::EachHead;
    if (windows && layer.attention.window == 0) layer.attention.rope = {};
  }
  return model;
}

}  // namespace

extern constexpr Architecture kExaone4{.read = read_exaone4};

}  // namespace tenon
