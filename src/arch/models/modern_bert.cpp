// ModernBERT (general.architecture "modern-bert").
#include "arch/architecture.h"
#include "arch/keys/activation_key.h"

namespace tenon {
namespace {

/// Warner et al. 2024, arXiv 2412.13663: norms before the blocks except the first, windows in two
/// of three layers, GeGLU.
ModelSpec read_modern_bert(const Keys& keys) {
  ModelSpec model =
      read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .norm = NormKind::LayerUnbiased});
  const NormSpec norm = model.output_norm;
  model.embedding_norm = {"token_embd_norm", norm.kind, norm.epsilon};
  make_encoder(keys, TENON_POOL_MEAN, model);
  model.classifier.activation = TENON_ACTIVATION_GELU_ERF;
  model.classifier.pooling = TENON_POOL_MEAN;
  (void)keys.count("attention.sliding_window", 1, SpecLimits::kPositions);
  read_windows(keys, 3, SeesAll::First, model);
  const double window_theta = keys.number_or("rope.freq_base_swa", 10000.0, 2.0, 1e15);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    LayerSpec& layer = model.layers[i];
    if (i == 0) layer.attention_norm = {};
    layer.attention.fused_qkv = true;
    layer.feed_forward.fused_gate_up = true;
    layer.feed_forward.activation = read_activation(keys, TENON_ACTIVATION_GELU_TANH, true);
    if (layer.attention.window > 0) layer.attention.rope.theta = window_theta;
  }
  return model;
}

constexpr KeyValue kModernBertExample[] = {{"attention.sliding_window", 16u}};

}  // namespace

extern constexpr Architecture kModernBert{
    .read = read_modern_bert, .build = build_encoder, .example = kModernBertExample};

}  // namespace tenon
