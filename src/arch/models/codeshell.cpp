// CodeShell (general.architecture "codeshell").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Xie et al. 2024, arXiv 2403.15747: GPT-2 with rotations and grouped queries.
ModelSpec read_codeshell(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .norm = NormKind::Layer});
  for (LayerSpec& layer : model.layers) {
    layer.attention.fused_qkv = true;
    layer.attention.qkv_bias = Presence::Required;
    layer.attention.output_bias = Presence::Required;
    set_plain_gelu(keys, layer);
  }
  return model;
}

}  // namespace

extern constexpr Architecture kCodeShell{.read = read_codeshell};

}  // namespace tenon
