// linear and linear_heads: decodes every weight row once and multiplies it with all input rows.
#pragma once

#include "backends/common/plain/plain_shape.h"
#include "backends/common/plain/plain_step.h"

namespace tenon::plain {

inline bool fits_linear(const OpShape& shape) noexcept {
  return is_activation(shape.inputs[0]) && is_activation(shape.outputs[0]) &&
         shape.inputs[0]->row_class == shape.outputs[0]->row_class &&
         is_weight(shape.inputs[1], shape.outputs[0]->columns, shape.inputs[0]->columns) &&
         is_optional_vector(shape.inputs[2], shape.outputs[0]->columns);
}

inline bool fits_linear_heads(const OpShape& shape) noexcept {
  const uint64_t heads = shape.op->params.linear_heads.heads;
  const tenon_slot* weight = shape.inputs[1];
  return same_rows(shape.inputs[0], shape.outputs[0]) && heads > 0 && weight != nullptr &&
         is_weight(weight, shape.outputs[0]->columns, weight->columns) &&
         weight->rows % heads == 0 && weight->columns <= UINT64_MAX / heads &&
         shape.inputs[0]->columns == heads * weight->columns;
}

template <typename Math>
void run_linear(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const auto in = step.activation(op.inputs[0]);
  auto out = step.activation(op.outputs[0]);
  const auto bias = step.weight_vector(op.inputs[2]);
  if (in.rows() == 0) return;
  step.for_each(static_cast<uint64_t>(out.cols()), static_cast<uint64_t>(in.cols()),
                [&](uint64_t n, Real* row) noexcept {
                  step.weight_row(op.inputs[1], n, row);
                  const ConstVector<Real> weight(row, in.cols());
                  const auto column = static_cast<Eigen::Index>(n);
                  const Real start = bias.empty() ? 0 : bias[n];
                  for (Eigen::Index t = 0; t < in.rows(); ++t) {
                    const ConstVector<Real> x(in.row(t).data(), in.cols());
                    out(t, column) = x.dot(weight) + start;
                  }
                });
}

template <typename Math>
void run_linear_heads(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const auto in = step.activation(op.inputs[0]);
  auto out = step.activation(op.outputs[0]);
  const auto depth = static_cast<Eigen::Index>(step.slot(op.inputs[1]).columns);
  const Eigen::Index rows_of_head = out.cols() / op.params.linear_heads.heads;
  step.for_each(static_cast<uint64_t>(out.cols()), static_cast<uint64_t>(depth),
                [&](uint64_t n, Real* row) noexcept {
                  step.weight_row(op.inputs[1], n, row);
                  const ConstVector<Real> weight(row, depth);
                  const auto column = static_cast<Eigen::Index>(n);
                  const Eigen::Index head = column / rows_of_head;
                  for (Eigen::Index t = 0; t < in.rows(); ++t) {
                    const ConstVector<Real> x(in.row(t).data() + head * depth, depth);
                    out(t, column) = x.dot(weight);
                  }
                });
}

}  // namespace tenon::plain
