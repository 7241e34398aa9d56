// N-gram rows, in the order in which a token passes through them.
#include "arch/ngram_embedding.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "arch/gated_residual.h"

namespace tenon {
namespace {

constexpr float kLeastProduct = 1e-6f;

/// [T, heads * row]: what each head finds, side by side.
Slot rows_of_tokens(BuildContext& context, const NgramSpec& spec) {
  constexpr const char* kTable = "per_layer_token_embd.weight";
  NgramLookup ngrams;
  ngrams.multipliers = spec.multipliers;
  ngrams.end = static_cast<int32_t>(spec.end);
  uint64_t used = 0;  // files pad the table
  for (const NgramSpec::Head& head : spec.heads) {
    ngrams.heads.push_back({static_cast<int64_t>(head.order), static_cast<int64_t>(head.offset),
                            static_cast<int64_t>(head.size)});
    used = std::max(used, head.offset + head.size);
  }
  const uint64_t rows = std::max(used, context.tensors.rows_of(kTable).value_or(used));
  const RowSource table =
      context.tensors.tensor(kTable, {rows, spec.row}, TensorRole::Embedding).rows(0, used);
  return context.rows_of_ngrams(kTable, table, ngrams);
}

}  // namespace

Slot ngram_embedding(BuildContext& context, uint32_t layer, Slot streams) {
  const NgramSpec& spec = context.layer(layer).ngram;
  ProgramBuilder& ops = context.ops;
  const auto name = [&](const char* tensor) { return BuildContext::in_layer(layer, tensor); };
  const uint32_t width = context.model.width;
  const uint32_t count = context.model.hyper_connection.streams;
  const uint64_t columns = uint64_t{count} * width;
  const uint64_t found_columns = spec.heads.size() * uint64_t{spec.row};
  const Slot found = rows_of_tokens(context, spec);
  const Slot key =
      norm_of_streams(context, context.linear(found, name("ple_key"), columns, found_columns),
                      name("ple_norm_key"));
  const Slot value = context.linear(found, name("ple_value"), width, found_columns);
  const Slot query = norm_of_streams(context, streams, name("ple_norm_query"));
  const Slot products = ops.scale(ops.sum_segments(ops.mul(key, query), width),
                                  1.0f / std::sqrt(static_cast<float>(width)));
  const Slot gates =
      ops.activate(TENON_ACTIVATION_SIGMOID, ops.signed_root(products, kLeastProduct));
  const Slot gated = ops.mix_streams(value, {.streams = 1, .results = count, .matrix = gates});
  const Slot normed = norm_of_streams(context, gated, name("ple_norm_conv"));
  const RowSource taps =
      context.tensors
          .tensor(name("ple_conv1d.weight"), {columns, spec.kernel}, TensorRole::Convolution)
          .spread(spec.dilation);
  const auto offset = static_cast<uint32_t>(context.layer(layer).delta.state_values());
  const Slot mixed = ops.conv(normed, context.tensors.bind(name("ple_conv1d.weight"), taps),
                              kNoSlot, context.state(layer, offset));
  return ops.add(gated, ops.activate(TENON_ACTIVATION_SILU, mixed));
}

}  // namespace tenon
