// embed and gather_rows: rows copied by number.
#include "backends/reference/reference_ops.h"
#include "backends/reference/reference_step.h"

namespace tenon::reference {

bool fits_embed(const OpShape& shape) noexcept {
  return is_activation(shape.outputs[0], TENON_ROWS_TOKENS) &&
         shape.op->params.embed.source <= TENON_EMBED_POSITIONS &&
         is_weight(shape.inputs[0], 0, shape.outputs[0]->columns);
}

bool fits_gather_rows(const OpShape& shape) noexcept {
  return is_activation(shape.inputs[0], TENON_ROWS_TOKENS) &&
         is_activation(shape.outputs[0], TENON_ROWS_OUTPUTS) &&
         shape.inputs[0]->columns == shape.outputs[0]->columns;
}

void run_embed(StepRun& step, const tenon_op& op) {
  Matrix out = step.activation(op.outputs[0]);
  for (Eigen::Index t = 0; t < out.rows(); ++t) {
    const bool by_token = op.params.embed.source == TENON_EMBED_TOKENS;
    const int64_t row = by_token ? step.step().tokens[t] : step.position(t);
    step.weight_row(op.inputs[0], static_cast<uint64_t>(row), out.row(t).data());
  }
}

void run_gather_rows(StepRun& step, const tenon_op& op) {
  const Matrix in = step.activation(op.inputs[0]);
  Matrix out = step.activation(op.outputs[0]);
  for (Eigen::Index r = 0; r < out.rows(); ++r) out.row(r) = in.row(step.step().output_rows[r]);
}

}  // namespace tenon::reference
