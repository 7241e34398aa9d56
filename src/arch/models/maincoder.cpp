// Maincoder (general.architecture "maincoder").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Maincode 2025, model card of Maincoder-1B: norms on query and key heads after the rotation.
ModelSpec read_maincoder(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  for (LayerSpec& layer : model.layers) {
    layer.attention.qk_norm = QkNorm::EachHead;
    layer.attention.rope_before_norm = true;
  }
  return model;
}

}  // namespace

extern constexpr Architecture kMaincoder{.read = read_maincoder};

}  // namespace tenon
