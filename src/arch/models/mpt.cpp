// MPT (general.architecture "mpt").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// MosaicML 2023, model card of MPT-7B: ALiBi, no biases.
ModelSpec read_mpt(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.norm = NormKind::LayerUnbiased});
  read_qkv_clamp(keys, model);
  const double bias = keys.number_or("attention.max_alibi_bias", 8.0, 0.0, 1e6);
  if (bias != 0.0 && bias != 8.0) {
    keys.refuse(Code::Unsupported, "attention.max_alibi_bias", "is {}; known are 0 and 8", bias);
  }
  for (LayerSpec& layer : model.layers) {
    layer.attention.rope = {};
    layer.attention.alibi = bias > 0.0;
    layer.attention.fused_qkv = true;
    layer.feed_forward.kind = FeedForwardKind::Plain;
    layer.feed_forward.activation = TENON_ACTIVATION_GELU_ERF;
  }
  return model;
}

/// Models without ALiBi have learned positions; models with biases have them everywhere.
void adapt_mpt(const ModelFile& file, ModelSpec& model) {
  model.learned_positions = file.find("position_embd.weight") != nullptr;
  if (file.find("blk.0.attn_norm.bias") == nullptr) return;
  model.output_norm.kind = NormKind::Layer;
  for (LayerSpec& layer : model.layers) {
    layer.attention_norm.kind = layer.feed_forward_norm.kind = NormKind::Layer;
    layer.attention.qkv_bias = Presence::Required;
    layer.attention.output_bias = Presence::Required;
    layer.feed_forward.bias = Presence::Required;
  }
}

}  // namespace

extern constexpr Architecture kMpt{.read = read_mpt, .adapt = adapt_mpt};

}  // namespace tenon
