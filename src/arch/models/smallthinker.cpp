// SmallThinker (general.architecture "smallthinker").
#include "arch/architecture.h"
#include "arch/blocks/feed_forward.h"
#include "arch/blocks/mixer.h"
#include "program/operations.h"

namespace tenon {
namespace {

/// Song et al. 2025, arXiv 2507.20984: the router reads what enters the layer, before its norm, so
/// that experts can be fetched while attention runs; gates are ReLUs. Where there are windows, every
/// fourth layer has neither window nor positions.
ModelSpec read_smallthinker(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_windows(keys, 4, SeesAll::First, model);
  read_experts(keys, {}, model);
  const bool has_windows =
      keys.count_or("attention.sliding_window", 0, 0, SpecLimits::kPositions) > 0;
  for (LayerSpec& layer : model.layers) {
    layer.feed_forward.activation = TENON_ACTIVATION_RELU;
    if (has_windows && layer.attention.window == 0) layer.attention.rope = {};
  }
  return model;
}

Slot smallthinker_layer(BuildContext& context, uint32_t layer, Slot x) {
  const LayerSpec& spec = context.layer(layer);
  const Slot mixed = mixer(context, layer, context.layer_norm(x, layer, spec.attention_norm));
  x = context.wanted_rows(layer, x);
  const Route chosen = expert_routes(context, layer, x);
  x = op::add(context.ops, x, mixed);
  const Slot normed = context.layer_norm(x, layer, spec.feed_forward_norm);
  return op::add(context.ops, x,
                 routed_experts(context, layer, normed, chosen, context.model.width));
}

Slot build_smallthinker(BuildContext& context) {
  Slot x = embedding(context);
  for (uint32_t layer = 0; layer < context.model.layers.size(); ++layer) {
    x = smallthinker_layer(context, layer, x);
  }
  return output_head(context, x);
}

constexpr KeyValue kSmallThinkerExample[] = {{"attention.sliding_window", 16u},
                                             {"expert_count", 8u},
                                             {"expert_used_count", 3u},
                                             {"expert_feed_forward_length", 256u},
                                             {"expert_gating_func", 2u}};

}  // namespace

extern constexpr Architecture kSmallThinker{
    .read = read_smallthinker, .build = build_smallthinker, .example = kSmallThinkerExample};

}  // namespace tenon
