// pool: one row per sequence of the step.
#pragma once

#include "abi/strided.h"
#include "backends/common/plain/plain_shape.h"
#include "backends/common/plain/plain_step.h"

namespace tenon::plain {

inline bool fits_pool(const OpShape& shape) noexcept {
  return is_activation(shape.inputs[0], TENON_ROWS_TOKENS) &&
         is_activation(shape.outputs[0], TENON_ROWS_SEQUENCES) &&
         shape.inputs[0]->columns == shape.outputs[0]->columns &&
         shape.op->params.pool.kind <= TENON_POOL_LAST;
}

template <typename Math>
void run_pool(StepRun<Math>& step, const tenon_op& op) {
  const auto in = step.activation(op.inputs[0]);
  auto out = step.activation(op.outputs[0]);
  const Strided<tenon_step_sequence> sequences = sequences_of(step.step());
  for (uint32_t s = 0; s < sequences.size(); ++s) {
    const auto rows = in.middleRows(sequences[s].first_token, sequences[s].num_tokens);
    if (rows.rows() == 0) {
      out.row(s).setZero();
    } else if (op.params.pool.kind == TENON_POOL_MEAN) {
      out.row(s) = rows.colwise().mean();
    } else {
      out.row(s) = rows.row(op.params.pool.kind == TENON_POOL_FIRST ? 0 : rows.rows() - 1);
    }
  }
}

}  // namespace tenon::plain
