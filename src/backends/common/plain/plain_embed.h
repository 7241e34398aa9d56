// embed and gather_rows: rows copied by number.
#pragma once

#include "backends/common/plain/plain_shape.h"
#include "backends/common/plain/plain_step.h"

namespace tenon::plain {

inline bool fits_embed(const OpShape& shape) noexcept {
  return is_activation(shape.outputs[0], TENON_ROWS_TOKENS) &&
         shape.op->params.embed.source <= TENON_EMBED_POSITIONS &&
         is_weight(shape.inputs[0], 0, shape.outputs[0]->columns);
}

inline bool fits_gather_rows(const OpShape& shape) noexcept {
  return is_activation(shape.inputs[0], TENON_ROWS_TOKENS) &&
         is_activation(shape.outputs[0], TENON_ROWS_OUTPUTS) &&
         shape.inputs[0]->columns == shape.outputs[0]->columns;
}

template <typename Math>
void run_embed(StepRun<Math>& step, const tenon_op& op) {
  auto out = step.activation(op.outputs[0]);
  for (Eigen::Index t = 0; t < out.rows(); ++t) {
    const bool by_token = op.params.embed.source == TENON_EMBED_TOKENS;
    const int64_t row = by_token ? step.step().tokens[t] : step.position(t);
    step.weight_row(op.inputs[0], static_cast<uint64_t>(row), out.row(t).data());
  }
}

template <typename Math>
void run_gather_rows(StepRun<Math>& step, const tenon_op& op) {
  const auto in = step.activation(op.inputs[0]);
  auto out = step.activation(op.outputs[0]);
  for (Eigen::Index r = 0; r < out.rows(); ++r) out.row(r) = in.row(step.step().output_rows[r]);
}

}  // namespace tenon::plain
