// OpenELM (general.architecture "openelm").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Mehta et al. 2024, arXiv 2404.14619: heads and feed-forwards grow from layer to layer; query and
/// key heads are normalised.
ModelSpec read_openelm(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  for (LayerSpec& layer : model.layers) {
    layer.attention.fused_qkv = true;
    layer.attention.qk_norm = QkNorm::EachHead;
  }
  return model;
}

}  // namespace

extern constexpr Architecture kOpenElm{.read = read_openelm};

}  // namespace tenon
