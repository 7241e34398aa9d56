// LFM2, dense and with experts (general.architecture "lfm2", "lfm2moe").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Liquid AI 2025: short convolutions between two gates, and attention with normed queries and keys
/// in some layers.
ModelSpec read_lfm2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .hybrid = true});
  model.output_norm.name = "token_embd_norm";
  const uint32_t taps = keys.count("shortconv.l_cache", 2, SpecLimits::kConvTaps);
  for (LayerSpec& layer : model.layers) {
    if (layer.attention.heads > 0) {
      layer.attention.qk_norm = QkNorm::EachHead;
    } else {
      layer.short_conv.kernel = taps;
      layer.state_values = (taps - 1) * model.width;
    }
  }
  return model;
}

ModelSpec read_lfm2moe(const Keys& keys) {
  ModelSpec model = read_lfm2(keys);
  read_experts(keys, {.sigmoid = true}, model);
  return model;
}

}  // namespace

extern constexpr Architecture kLfm2{.read = read_lfm2};
extern constexpr Architecture kLfm2Moe{.read = read_lfm2moe};

}  // namespace tenon
