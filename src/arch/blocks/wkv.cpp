// RWKV without its time mixes, in the order in which a token passes through it.
#include "arch/blocks/wkv.h"

#include <string>

#include "arch/decoder.h"
#include "program/operations.h"

namespace tenon {
namespace {

Slot time_mix(BuildContext& context, uint32_t layer, Slot x) {
  return context.layer(layer).specs.get<WkvSpec>().mix_rank > 0 ? time_mix_6(context, layer, x)
                                                                : time_mix_7(context, layer, x);
}

Slot time_mix_output(BuildContext& context, uint32_t layer, Slot mixed) {
  return context.linear(mixed, context.in_layer(layer, "time_mix_output"), context.model.width,
                        context.model.width);
}

/// value(relu(key(x + shift lerp))^2); RWKV 6 multiplies by sigmoid(receptance(x + shift lerp)).
Slot channel_mix(BuildContext& context, uint32_t layer, Slot x) {
  ProgramBuilder& ops = context.ops;
  const auto name = [&](const char* tensor) { return context.in_layer(layer, tensor); };
  const uint64_t width = context.model.width;
  const uint64_t inner = context.layer(layer).feed_forward.width;
  const Slot step =
      op::add(ops, op::token_shift(ops, x, context.state(layer, kWkvState, context.model.width)),
              op::scale(ops, x, -1.0f));
  const auto mixed = [&](const char* lerp) {
    return op::add(
        ops, x, op::mul(ops, step, context.tensors.weight(name(lerp), {width}, TensorRole::Norm)));
  };
  const Slot key = op::activate(
      ops, TENON_ACTIVATION_RELU_SQUARED,
      context.linear(mixed("channel_mix_lerp_k.weight"), name("channel_mix_key"), inner, width));
  const Slot value = context.linear(key, name("channel_mix_value"), width, inner);
  if (context.layer(layer).specs.get<WkvSpec>().mix_rank == 0) return value;
  return op::sigmoid_gate(ops, value,
                          context.linear(mixed("channel_mix_lerp_r.weight"),
                                         name("channel_mix_receptance"), width, width));
}

}  // namespace

void WkvSpec::add_caches(BuildContext& context, uint32_t layer) const {
  context.add_state(layer, kWkvState, state_values(context.model.width));
}

Slot WkvSpec::build(BuildContext& context, uint32_t layer, Slot x) const {
  const Slot mixed = time_mix(context, layer, x);
  return time_mix_output(context, layer, context.wanted_rows(layer, mixed));
}

Slot build_rwkv(BuildContext& context) {
  const NormSpec& norm = context.model.output_norm;
  Slot x = context.norm(embedding(context), "token_embd_norm", norm, context.model.width);
  for (uint32_t layer = 0; layer < context.model.layers.size(); ++layer) {
    const auto normed = [&](std::string_view name) {
      return context.layer_norm(x, layer, {name, norm.kind, norm.epsilon});
    };
    // Keep all rows up to the last channel mix, which reads the previous token.
    const Slot mixed = time_mix(context, layer, normed("attn_norm"));
    x = op::add(context.ops, x, time_mix_output(context, layer, mixed));
    x = op::add(context.ops, x, channel_mix(context, layer, normed("attn_norm_2")));
    x = context.scaled(x, context.layer(layer).specs.get<WkvSpec>().result_scale);
  }
  return output_head(context, context.wanted_rows(context.last_layer(), x));
}

}  // namespace tenon
