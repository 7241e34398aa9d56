// Talkie (general.architecture "talkie").
#include "arch/architecture.h"
#include "program/operations.h"

namespace tenon {
namespace {

/// Talkie 2026, model card of Talkie-1930: norms without weights, a factor for each query head, and
/// a share of the embedding that each layer adds once more.
ModelSpec read_talkie(const Keys& keys) {
  ModelSpec model =
      read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .norm = NormKind::RmsUnweighted});
  model.embedding_norm = model.output_norm;
  model.logit_scale = keys.scale_or("logit_scale", 1.0);
  for (LayerSpec& layer : model.layers) layer.attention.qk_norm = QkNorm::GainOfQuery;
  return model;
}

Slot build_talkie(BuildContext& context) {
  const Slot embedded = embedding(context);
  Slot x = embedded;
  for (uint32_t layer = 0; layer < context.model.layers.size(); ++layer) {
    x = decoder_layer(context, layer, x);
    const Slot share = context.tensors.weight(context.in_layer(layer, "layer_output_scale.weight"),
                                              {1}, TensorRole::Norm);
    x = op::add(context.ops, x, op::mul(context.ops, context.wanted_rows(layer, embedded), share));
  }
  return output_head(context, x);
}

constexpr KeyValue kTalkieExample[] = {{"logit_scale", 0.5f}};

}  // namespace

extern constexpr Architecture kTalkie{
    .read = read_talkie, .build = build_talkie, .example = kTalkieExample};

}  // namespace tenon
