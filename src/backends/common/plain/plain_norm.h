// rms_norm, layer_norm and l2_norm, over segments of a row.
#pragma once

#include <algorithm>
#include <cmath>

#include "backends/common/plain/plain_shape.h"
#include "backends/common/plain/plain_step.h"

namespace tenon::plain {

template <typename Real>
using Segment = Eigen::Map<Eigen::Array<Real, Eigen::Dynamic, 1>>;
template <typename Real>
using ConstSegment = Eigen::Map<const Eigen::Array<Real, Eigen::Dynamic, 1>>;

/// Calls body(x, y) for each segment x of the input and its place y in the output.
template <typename Math, typename Body>
void for_each_segment(StepRun<Math>& step, const tenon_op& op, const Body& body) {
  using Real = typename Math::Real;
  const auto in = step.activation(op.inputs[0]);
  auto out = step.activation(op.outputs[0]);
  const Eigen::Index size = op.params.norm.segment;
  step.for_each(static_cast<uint64_t>(in.rows()), 0, [&](uint64_t t, Real*) noexcept {
    const Eigen::Index row = static_cast<Eigen::Index>(t) * in.cols();
    for (Eigen::Index first = row; first < row + in.cols(); first += size) {
      Segment<Real> y(out.data() + first, size);
      body(ConstSegment<Real>(in.data() + first, size), y);
    }
  });
}

inline bool fits_norm(const OpShape& shape) noexcept {
  const uint32_t segment = shape.op->params.norm.segment;
  return same_shape(shape.inputs[0], shape.outputs[0]) && segment > 0 &&
         shape.outputs[0]->columns % segment == 0 && is_optional_vector(shape.inputs[1], segment) &&
         is_optional_vector(shape.inputs[2], segment);
}

inline bool fits_rms_norm(const OpShape& shape) noexcept { return fits_norm(shape); }
inline bool fits_layer_norm(const OpShape& shape) noexcept { return fits_norm(shape); }
inline bool fits_l2_norm(const OpShape& shape) noexcept { return fits_norm(shape); }

template <typename Math>
void run_rms_norm(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const auto weight = step.weight_vector(op.inputs[1]);
  const ConstSegment<Real> w(weight.data(), static_cast<Eigen::Index>(weight.size()));
  const Real epsilon = op.params.norm.epsilon;
  for_each_segment(step, op, [&](const ConstSegment<Real>& x, Segment<Real>& y) {
    y = x / std::sqrt(x.square().mean() + epsilon);
    if (w.size() > 0) y *= w;
  });
}

template <typename Math>
void run_layer_norm(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const auto weight = step.weight_vector(op.inputs[1]);
  const auto bias = step.weight_vector(op.inputs[2]);
  const ConstSegment<Real> w(weight.data(), static_cast<Eigen::Index>(weight.size()));
  const ConstSegment<Real> b(bias.data(), static_cast<Eigen::Index>(bias.size()));
  const Real epsilon = op.params.norm.epsilon;
  for_each_segment(step, op, [&](const ConstSegment<Real>& x, Segment<Real>& y) {
    const Real mean = x.mean();
    const Real variance = (x - mean).square().mean();
    y = (x - mean) / std::sqrt(variance + epsilon);
    if (w.size() > 0) y *= w;
    if (b.size() > 0) y += b;
  });
}

template <typename Math>
void run_l2_norm(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const Real epsilon = op.params.norm.epsilon;
  for_each_segment(step, op, [&](const ConstSegment<Real>& x, Segment<Real>& y) {
    y = x / std::max(std::sqrt(x.square().sum()), epsilon);
  });
}

}  // namespace tenon::plain
