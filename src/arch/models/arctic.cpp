// Snowflake Arctic (general.architecture "arctic").
#include "arch/architecture.h"
#include "arch/blocks/feed_forward.h"
#include "arch/blocks/mixer.h"
#include "program/operations.h"

namespace tenon {
namespace {

/// Snowflake 2024, model card of Arctic: a dense feed-forward after attention, and experts that
/// read what attention reads, through a norm of their own.
ModelSpec read_arctic(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  read_experts(keys, {}, model);
  return model;
}

/// x + attention(norm(x)) = y; y + dense(norm(y)) + experts(norm(x))
Slot arctic_layer(BuildContext& context, uint32_t layer, Slot x) {
  const LayerSpec& spec = context.layer(layer);
  ProgramBuilder& ops = context.ops;
  const Slot mixed = mixer(context, layer, context.layer_norm(x, layer, spec.attention_norm));
  x = context.wanted_rows(layer, x);
  const Slot y = op::add(ops, x, mixed);
  const Slot dense =
      gated_feed_forward(context, layer, context.layer_norm(y, layer, spec.feed_forward_norm));
  NormSpec norm = spec.feed_forward_norm;
  norm.name = "ffn_norm_exps";
  const Slot routed = expert_feed_forward(context, layer, context.layer_norm(x, layer, norm));
  return op::add(ops, op::add(ops, y, dense), routed);
}

Slot build_arctic(BuildContext& context) {
  Slot x = embedding(context);
  for (uint32_t layer = 0; layer < context.model.layers.size(); ++layer) {
    x = arctic_layer(context, layer, x);
  }
  return output_head(context, x);
}

constexpr KeyValue kArcticExample[] = {{"expert_count", 8u}, {"expert_used_count", 2u}};

}  // namespace

extern constexpr Architecture kArctic{
    .read = read_arctic, .build = build_arctic, .example = kArcticExample};

}  // namespace tenon
