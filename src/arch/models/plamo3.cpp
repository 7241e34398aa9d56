// PLaMo 3 (general.architecture "plamo3").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Preferred Networks 2025: norms before and after each block and of queries and keys. Every eighth
/// layer has full attention, the others a window and their own rope.
ModelSpec read_plamo3(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_windows(keys, 8, SeesAll::Last, model);
  read_window_rope(keys, model);
  add_post_norms(model);
  for (LayerSpec& layer : model.layers) {
    // These files omit ".weight" from the names of the norms after blocks.
    layer.attention_post_norm.suffix = layer.feed_forward_post_norm.suffix = {};
    layer.attention.fused_qkv = true;
    layer.attention.qk_norm = QkNorm::EachHead;
    layer.feed_forward.fused_gate_up = true;
  }
  return model;
}

constexpr KeyValue kPlamo3Example[] = {{"attention.sliding_window", 24u},
                                       {"attention.sliding_window_pattern", 2u},
                                       {"rope.freq_base_swa", 5000.0f}};

}  // namespace

extern constexpr Architecture kPlamo3{.read = read_plamo3, .example = kPlamo3Example};

}  // namespace tenon
