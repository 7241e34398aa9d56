// sum_segments, softmax, slice and concat: operations on column segments of rows.
#pragma once

#include <cmath>

#include "backends/common/plain/plain_shape.h"
#include "backends/common/plain/plain_step.h"

namespace tenon::plain {

inline bool fits_sum_segments(const OpShape& shape) noexcept {
  const uint64_t size = shape.op->params.segments.size;
  return same_rows(shape.inputs[0], shape.outputs[0]) && size > 0 &&
         shape.inputs[0]->columns % size == 0 &&
         shape.outputs[0]->columns == shape.inputs[0]->columns / size;
}

inline bool fits_softmax(const OpShape& shape) noexcept {
  const uint64_t size = shape.op->params.segments.size;
  return same_shape(shape.inputs[0], shape.outputs[0]) && size > 0 &&
         shape.inputs[0]->columns % size == 0;
}

inline bool fits_slice(const OpShape& shape) noexcept {
  const tenon_slice_params& slice = shape.op->params.slice;
  return same_rows(shape.inputs[0], shape.outputs[0]) && slice.segment > 0 &&
         shape.inputs[0]->columns % slice.segment == 0 &&
         uint64_t{slice.first} + slice.columns <= slice.segment &&
         shape.outputs[0]->columns == shape.inputs[0]->columns / slice.segment * slice.columns;
}

inline bool fits_concat(const OpShape& shape) noexcept {
  const tenon_concat_params& concat = shape.op->params.concat;
  if (!same_rows(shape.inputs[0], shape.outputs[0]) ||
      !same_rows(shape.inputs[1], shape.outputs[0]) || concat.segments == 0 ||
      concat.broadcast > 1 || shape.inputs[0]->columns % concat.segments != 0) {
    return false;
  }
  const uint64_t piece = shape.inputs[0]->columns / concat.segments;
  const uint64_t second = shape.inputs[1]->columns;
  const bool whole = concat.broadcast == 1 || second % concat.segments == 0;
  const uint64_t added = concat.broadcast == 1 ? second : second / concat.segments;
  return whole && shape.outputs[0]->columns % concat.segments == 0 &&
         shape.outputs[0]->columns / concat.segments == piece + added;
}

template <typename Math>
void run_sum_segments(StepRun<Math>& step, const tenon_op& op) {
  const auto in = step.activation(op.inputs[0]);
  auto out = step.activation(op.outputs[0]);
  const Eigen::Index size = op.params.segments.size;
  for (Eigen::Index t = 0; t < in.rows(); ++t) {
    for (Eigen::Index j = 0; j < out.cols(); ++j) {
      out(t, j) = in.row(t).segment(j * size, size).sum();
    }
  }
}

template <typename Math>
void run_softmax(StepRun<Math>& step, const tenon_op& op) {
  const auto in = step.activation(op.inputs[0]);
  auto out = step.activation(op.outputs[0]);
  const Eigen::Index size = op.params.segments.size;
  for (Eigen::Index t = 0; t < in.rows(); ++t) {
    for (Eigen::Index first = 0; first < in.cols(); first += size) {
      const auto x = in.row(t).segment(first, size);
      auto y = out.row(t).segment(first, size);
      y = (x.array() - x.maxCoeff()).exp().matrix();
      y /= y.sum();
    }
  }
}

template <typename Math>
void run_slice(StepRun<Math>& step, const tenon_op& op) {
  const tenon_slice_params& slice = op.params.slice;
  const auto in = step.activation(op.inputs[0]);
  auto out = step.activation(op.outputs[0]);
  const Eigen::Index columns = slice.columns;
  for (Eigen::Index j = 0; j < in.cols() / slice.segment; ++j) {
    out.middleCols(j * columns, columns) = in.middleCols(j * slice.segment + slice.first, columns);
  }
}

template <typename Math>
void run_concat(StepRun<Math>& step, const tenon_op& op) {
  const tenon_concat_params& concat = op.params.concat;
  const auto x = step.activation(op.inputs[0]);
  const auto y = step.activation(op.inputs[1]);
  auto out = step.activation(op.outputs[0]);
  const Eigen::Index a = x.cols() / concat.segments;
  const Eigen::Index b = concat.broadcast == 1 ? y.cols() : y.cols() / concat.segments;
  for (Eigen::Index j = 0; j < concat.segments; ++j) {
    out.middleCols(j * (a + b), a) = x.middleCols(j * a, a);
    out.middleCols(j * (a + b) + a, b) = y.middleCols(concat.broadcast == 1 ? 0 : j * b, b);
  }
}

}  // namespace tenon::plain
