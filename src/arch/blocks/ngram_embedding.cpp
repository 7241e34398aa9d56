// Rows by n-grams, in the order in which a token passes through them.
#include "arch/blocks/ngram_embedding.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "arch/blocks/gated_residual.h"
#include "arch/blocks/hyper_connection.h"
#include "program/operations.h"

namespace tenon {
namespace {

constexpr float kLeastProduct = 1e-6f;
constexpr std::string_view kNgramState = "n-grams";

const HyperConnectionSpec& streams_of(const BuildContext& context) {
  return context.model.specs.get<HyperConnectionSpec>();
}

/// [T, heads * row]: concatenated rows found by the heads.
Slot rows_of_ngrams(BuildContext& context, const NgramSpec& spec, const std::string& name) {
  uint64_t used = 0;  // files pad the table
  for (const backends::NgramHead& head : spec.lookup.heads) {
    used = std::max(used, head.offset + head.size);
  }
  const uint64_t rows = std::max(used, context.tensors.rows_of(name).value_or(used));
  const RowSource table =
      context.tensors.tensor(name, {rows, spec.row}, TensorRole::Embedding).rows(0, used);
  return context.rows_of_ngrams(name, table, spec.lookup);
}

/// [T, streams]: sigmoid(r(k_j . q_j / sqrt(width))) for each stream j.
Slot gates_of(BuildContext& context, Slot key, Slot query) {
  ProgramBuilder& ops = context.ops;
  const uint32_t width = context.model.width;
  const Slot products = op::scale(ops, op::sum_segments(ops, op::mul(ops, key, query), width),
                                  1.0f / std::sqrt(static_cast<float>(width)));
  return op::activate(ops, TENON_ACTIVATION_SIGMOID, op::signed_root(ops, products, kLeastProduct));
}

}  // namespace

void NgramSpec::add_caches(BuildContext& context, uint32_t layer) const {
  context.add_state(layer, kNgramState,
                    state_values(streams_of(context).columns(context.model.width)));
}

Slot ngram_embedding(BuildContext& context, uint32_t layer, Slot streams) {
  const NgramSpec& spec = context.layer(layer).specs.get<NgramSpec>();
  ProgramBuilder& ops = context.ops;
  const auto name = [&](const char* tensor) { return context.in_layer(layer, tensor); };
  const uint32_t width = context.model.width;
  const uint32_t count = streams_of(context).streams;
  const uint64_t columns = uint64_t{count} * width;
  const uint64_t found_columns = spec.lookup.heads.size() * uint64_t{spec.row};
  const Slot found = rows_of_ngrams(context, spec, "per_layer_token_embd.weight");
  const Slot key =
      norm_of_streams(context, context.linear(found, name("ple_key"), columns, found_columns),
                      name("ple_norm_key"));
  const Slot value = context.linear(found, name("ple_value"), width, found_columns);
  const Slot query = norm_of_streams(context, streams, name("ple_norm_query"));
  const Slot gates = gates_of(context, key, query);
  const Slot gated = op::mix_streams(ops, value, {.streams = 1, .results = count, .matrix = gates});
  const Slot normed = norm_of_streams(context, gated, name("ple_norm_conv"));
  const RowSource taps =
      context.tensors
          .tensor(name("ple_conv1d.weight"), {columns, spec.kernel}, TensorRole::Convolution)
          .spread(spec.dilation);
  const Slot mixed = op::conv(ops, normed, context.tensors.bind(name("ple_conv1d.weight"), taps),
                              kNoSlot, context.state(layer, kNgramState));
  return op::add(ops, gated, op::activate(ops, TENON_ACTIVATION_SILU, mixed));
}

Slot add_ngram_values(BuildContext& context, uint32_t layer, Slot streams) {
  const NgramSpec& spec = context.layer(layer).specs.get<NgramSpec>();
  ProgramBuilder& ops = context.ops;
  const auto name = [&](const char* tensor) { return context.in_layer(layer, tensor); };
  const uint32_t width = context.model.width;
  const uint32_t count = streams_of(context).streams;
  const uint32_t columns = count * width;
  const Slot found = rows_of_ngrams(context, spec, name("engram_embd.weight"));
  const Slot both = context.linear(found, name("engram_wkv"), columns + width,
                                   spec.lookup.heads.size() * uint64_t{spec.row});
  const auto normed = [&](Slot x, const std::string& weight) {
    const RowSource values =
        context.tensors.tensor(weight, {count, width}, TensorRole::Norm).as_row().decoded();
    return op::mul(ops, op::rms_norm(ops, x, kNoSlot, context.model.output_norm.epsilon, width),
                   context.tensors.bind(weight, values));
  };
  const Slot key =
      normed(op::slice(ops, both, columns + width, 0, columns), name("engram_k.weight"));
  const Slot query = normed(streams, name("engram_q.weight"));
  return op::mix_streams(ops, streams,
                         {.streams = count,
                          .results = count,
                          .added = op::slice(ops, both, columns + width, columns, width),
                          .factors = gates_of(context, key, query)});
}

}  // namespace tenon
