// The decoder, written in the order in which a token passes through it.
#include "arch/decoder.h"

#include <string>

#include "arch/attention.h"
#include "arch/feed_forward.h"

namespace tenon {
namespace {

/// A table of the vocabulary without the rows beyond the last token, which files have for the sake
/// of round numbers. So none of them gets a logit, and no token without a text can be drawn.
RowSource without_padding(const ModelSpec& model, const RowSource& table) {
  return table.rows(0, model.vocab);
}

Slot output_bias(BuildContext& context) {
  const ModelSpec& model = context.model;
  if (model.output_bias == Presence::Absent) return kNoSlot;
  const auto bias =
      context.tensors.optional_tensor("output.bias", {model.vocab_rows}, TensorRole::Bias);
  return bias ? context.tensors.bind("output.bias", bias->columns(0, model.vocab)) : kNoSlot;
}

}  // namespace

Slot embedding(BuildContext& context) {
  const ModelSpec& model = context.model;
  const RowSource table = context.tensors.tensor(
      "token_embd.weight", {model.vocab_rows, model.width}, TensorRole::Embedding);
  context.embedding_table =
      context.tensors.bind("token_embd.weight", without_padding(model, table));
  return context.scaled(context.ops.embed(context.embedding_table), model.embedding_scale);
}

Slot decoder_layer(BuildContext& context, uint32_t layer, Slot x) {
  const LayerSpec& spec = context.layer(layer);
  const bool one_norm = spec.parallel && spec.feed_forward_norm.name.empty();
  Slot normed = context.layer_norm(x, layer, spec.attention_norm);
  Slot attended = attention(context, layer, normed);
  if (context.is_last(layer)) {
    attended = context.ops.gather_rows(attended);
    x = context.ops.gather_rows(x);
    if (one_norm) normed = context.ops.gather_rows(normed);
  }
  const Slot first = context.layer_norm(attention_output(context, layer, attended), layer,
                                        spec.attention_post_norm);
  const auto second_of = [&](Slot input) {
    return context.layer_norm(feed_forward(context, layer, input), layer,
                              spec.feed_forward_post_norm);
  };
  const auto add_to = [&](Slot residual, Slot branch) {
    return context.ops.add(residual, context.scaled(branch, spec.residual_scale));
  };
  if (spec.parallel) {
    const Slot input = one_norm ? normed : context.layer_norm(x, layer, spec.feed_forward_norm);
    return add_to(x, context.ops.add(first, second_of(input)));
  }
  x = add_to(x, first);
  return add_to(x, second_of(context.layer_norm(x, layer, spec.feed_forward_norm)));
}

Slot output_head(BuildContext& context, Slot x) {
  const ModelSpec& model = context.model;
  x = context.norm(x, std::string(model.output_norm.name), model.output_norm, model.width);
  x = context.scaled(x, model.logit_scale);
  const auto own = context.tensors.optional_tensor("output.weight", {model.vocab_rows, model.width},
                                                   TensorRole::Output);
  const Slot table = own ? context.tensors.bind("output.weight", without_padding(model, *own))
                         : context.embedding_table;
  const Slot logits = context.ops.linear(x, table, output_bias(context));
  return model.logit_soft_cap > 0.0f ? context.ops.soft_cap(logits, model.logit_soft_cap) : logits;
}

Slot build_decoder(BuildContext& context) {
  Slot x = embedding(context);
  for (uint32_t layer = 0; layer < context.model.layers.size(); ++layer) {
    x = decoder_layer(context, layer, x);
  }
  return output_head(context, x);
}

}  // namespace tenon
