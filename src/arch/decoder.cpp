// The decoder, in the order in which a token passes through it.
#include "arch/decoder.h"

#include <limits>
#include <string>

#include "arch/blocks/feed_forward.h"
#include "arch/blocks/mixer.h"
#include "arch/blocks/row_head.h"
#include "program/operations.h"

namespace tenon {
namespace {

/// Cuts padding rows off a vocabulary table, which files add to round its size. So they get no
/// logits, and no token without a text can be drawn.
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

/// Sets the logits of ModelSpec::unsaid to the lowest number.
Slot without_unsaid(BuildContext& context, Slot logits) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  const uint32_t vocab = context.model.vocab;
  Slot joined = kNoSlot;
  const auto append = [&](uint32_t first, uint32_t end, bool said) {
    if (first == end) return;
    const Slot part = op::slice(context.ops, logits, vocab, first, end - first);
    const Slot own = said ? part : op::scale(context.ops, part, 0.0f, kLowest);
    joined = joined == kNoSlot ? own : op::concat(context.ops, joined, own);
  };
  uint32_t next = 0;
  for (const TokenRun& run : context.model.unsaid) {
    append(next, run.first, true);
    append(run.first, run.end, false);
    next = run.end;
  }
  append(next, vocab, true);
  return joined;
}

/// Addend of tokens by segment: the first row for all, or, with two texts per sequence, selected by
/// a step input x [T, 2], one-hot by the token's text.
Slot token_types(BuildContext& context) {
  const ModelSpec& model = context.model;
  const RowSource types = context.tensors.tensor(
      "token_types.weight", {model.token_types, model.width}, TensorRole::Norm);
  if (!context.options.token_rows || model.classifier.labels == 0 || model.token_types < 2) {
    return context.tensors.bind("token_types.weight", types.rows(0, 1).decoded());
  }
  const Slot table = context.tensors.bind("token_types.weight", types.decoded().transposed());
  const Slot text = context.ops.input("text of each token", TENON_ROWS_TOKENS, model.token_types);
  return op::linear(context.ops, text, table);
}

/// Rows of the embedding [T, width]. Like output_head(), treats a file without an output matrix as
/// tied; the whole table is then read for the logits.
Slot embedding_rows(BuildContext& context, const RowSource& table) {
  const bool is_tied = !context.model.pooling && !context.tensors.has("output.weight");
  if (!is_tied) return context.rows_of_tokens("token_embd.weight", table);
  context.embedding_table = context.tensors.bind("token_embd.weight", table);
  return op::embed(context.ops, context.embedding_table);
}

/// Rows of pictures in place of the embeddings x [T, width] of their tokens.
Slot with_media_rows(BuildContext& context, Slot x) {
  if (!context.options.media_rows) return x;
  MediaInputs& media = context.media;
  media.rows = context.ops.input("rows of pictures", TENON_ROWS_TOKENS, context.model.width);
  media.keep = context.ops.input("tokens of text", TENON_ROWS_TOKENS, 1);
  return op::add(context.ops, op::mul(context.ops, x, media.keep), media.rows);
}

}  // namespace

Slot embedding(BuildContext& context) {
  const ModelSpec& model = context.model;
  const RowSource table = context.tensors.tensor(
      "token_embd.weight", {model.vocab_rows, model.width}, TensorRole::Embedding);
  Slot x =
      context.scaled(embedding_rows(context, without_padding(model, table)), model.embedding_scale);
  x = with_media_rows(context, x);
  if (model.token_types > 0) {
    x = op::add(context.ops, x, token_types(context));
  }
  if (model.learned_positions) {
    const Slot positions = context.tensors.weight(
        "position_embd.weight", {model.trained_context, model.width}, TensorRole::Embedding);
    x = op::add(context.ops, x, op::embed(context.ops, positions, TENON_EMBED_POSITIONS));
  }
  const NormSpec& norm = model.embedding_norm;
  return norm.name.empty() ? x : context.norm(x, std::string(norm.name), norm, model.width);
}

Slot decoder_layer(BuildContext& context, uint32_t layer, Slot x) {
  const LayerSpec& spec = context.layer(layer);
  const auto add_to = [&](Slot residual, Slot branch) {
    return op::add(context.ops, residual, context.scaled(branch, spec.residual_scale));
  };
  if (const NormSpec& norm = spec.entry_norm; !norm.name.empty()) {
    x = context.norm(x, std::string(norm.name), norm, context.model.width);
  }
  const Slot all_rows = x;
  x = context.wanted_rows(layer, x);
  const Slot normed = context.layer_norm(all_rows, layer, spec.attention_norm);
  const Slot mixed = spec.has_mixer() ? mixer(context, layer, normed) : kNoSlot;
  if (spec.norms_sum) {
    x = context.layer_norm(add_to(x, mixed), layer, spec.attention_post_norm);
    return context.layer_norm(add_to(x, feed_forward(context, layer, x)), layer,
                              spec.feed_forward_post_norm);
  }
  const auto fed = [&](Slot input) {
    return context.layer_norm(feed_forward(context, layer, input), layer,
                              spec.feed_forward_post_norm);
  };
  if (spec.parallel) {
    const Slot input = spec.feed_forward_norm.name.empty()
                           ? context.wanted_rows(layer, normed)
                           : context.layer_norm(x, layer, spec.feed_forward_norm);
    const Slot first = context.layer_norm(mixed, layer, spec.attention_post_norm);
    return add_to(x, op::add(context.ops, first, fed(input)));
  }
  if (mixed != kNoSlot) x = add_to(x, context.layer_norm(mixed, layer, spec.attention_post_norm));
  if (!spec.has_feed_forward()) return x;
  return add_to(x, fed(context.layer_norm(x, layer, spec.feed_forward_norm)));
}

Slot output_head(BuildContext& context, Slot x) {
  const ModelSpec& model = context.model;
  const Slot last = x;
  if (!model.output_norm.name.empty()) {
    x = context.norm(x, std::string(model.output_norm.name), model.output_norm, model.width);
  }
  if (model.pooling) return row_head(context, x);
  const Slot hidden = model.prediction.reads_normed ? x : last;
  if (context.options.row_result) context.ops.result(x);
  if (context.options.hidden_result && !(context.options.row_result && hidden == x)) {
    context.ops.result(hidden);
  }
  x = context.scaled(x, model.logit_scale);
  const auto own = context.tensors.optional_tensor("output.weight", {model.vocab_rows, model.width},
                                                   TensorRole::Output);
  const Slot table = own ? context.tensors.bind("output.weight", without_padding(model, *own))
                         : context.embedding_table;
  const Slot logits = op::linear(context.ops, x, table, output_bias(context));
  const Slot capped = model.logit_soft_cap > 0.0f
                          ? op::soft_cap(context.ops, logits, model.logit_soft_cap)
                          : logits;
  return model.unsaid.empty() ? capped : without_unsaid(context, capped);
}

Slot build_encoder(BuildContext& context) {
  const ModelSpec& model = context.model;
  Slot x = embedding(context);
  for (uint32_t layer = 0; layer < model.layers.size(); ++layer) {
    x = decoder_layer(context, layer, x);
  }
  if (!model.output_norm.name.empty()) {
    x = context.norm(x, std::string(model.output_norm.name), model.output_norm, model.width);
  }
  return row_head(context, x);
}

Slot build_decoder(BuildContext& context) {
  Slot x = embedding(context);
  for (uint32_t layer = 0; layer < context.model.layers.size(); ++layer) {
    x = decoder_layer(context, layer, x);
  }
  return output_head(context, x);
}

}  // namespace tenon
