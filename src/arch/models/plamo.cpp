// PLaMo 1 (general.architecture "plamo").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Preferred Networks 2023, model card of PLaMo-13B: attention and feed-forward read one norm.
ModelSpec read_plamo(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  for (LayerSpec& layer : model.layers) {
    layer.parallel = true;
    layer.feed_forward_norm = {};
  }
  return model;
}

}  // namespace

extern constexpr Architecture kPlamo{.read = read_plamo};

}  // namespace tenon
