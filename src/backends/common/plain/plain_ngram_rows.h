// ngram_rows: rows of a table by the hashes of the last tokens (Engram, arXiv:2601.07372).
#pragma once

#include "abi/ngram_hash.h"
#include "backends/common/plain/plain_shape.h"
#include "backends/common/plain/plain_step.h"

namespace tenon::plain {

inline bool is_integer_constant(const tenon_slot* slot) noexcept {
  return slot != nullptr && slot->kind == TENON_SLOT_CONSTANT && slot->type == TENON_TYPE_I64 &&
         slot->data != nullptr;
}

inline bool fits_ngram_rows(const OpShape& shape) noexcept {
  const tenon_slot* table = shape.inputs[0];
  const tenon_slot* multipliers = shape.inputs[1];
  const tenon_slot* heads = shape.inputs[2];
  const tenon_slot* out = shape.outputs[0];
  if (!is_integer_constant(multipliers) || !is_integer_constant(heads) || table == nullptr ||
      multipliers->rows != 1 || multipliers->columns == 0 ||
      multipliers->columns > backends::kMaxNgram ||
      multipliers->columns > uint64_t{shape.token_history} + 1 || heads->rows == 0 ||
      heads->rows > UINT32_MAX || heads->columns != backends::kNgramHeadNumbers) {
    return false;
  }
  const std::span numbers(static_cast<const int64_t*>(heads->data),
                          heads->rows * backends::kNgramHeadNumbers);
  const tenon_slot* map = shape.inputs[3];
  return (map == nullptr || (is_integer_constant(map) && map->rows == 1)) &&
         is_weight(table, 0, table->columns) && is_activation(out, TENON_ROWS_TOKENS) &&
         out->columns / heads->rows == table->columns && out->columns % heads->rows == 0 &&
         backends::are_ngram_heads(numbers, multipliers->columns, table->rows);
}

template <typename Math>
void run_ngram_rows(StepRun<Math>& step, const tenon_op& op) {
  const backends::NgramNumbers numbers = step.ngram_numbers(op);
  const std::span<const int64_t> heads = step.integers(op.inputs[2]);
  const uint64_t columns = step.slot(op.inputs[0]).columns;
  const auto sequences = sequences_of(step.step());
  auto out = step.activation(op.outputs[0]);
  for (uint32_t s = 0; s < sequences.size(); ++s) {
    for (uint32_t i = 0; i < sequences[s].num_tokens; ++i) {
      const auto hashes = backends::ngram_hashes(step.step(), step.token_history(), s, i, numbers);
      auto* row = out.row(sequences[s].first_token + i).data();
      for (uint64_t head = 0; head < heads.size() / backends::kNgramHeadNumbers; ++head) {
        step.weight_row(op.inputs[0],
                        backends::ngram_row(backends::ngram_head(heads, head), hashes),
                        row + head * columns);
      }
    }
  }
}

}  // namespace tenon::plain
