// round: values of few bits with a scale per segment.
#pragma once

#include "abi/rounded_values.h"
#include "backends/common/plain/plain_shape.h"
#include "backends/common/plain/plain_step.h"

namespace tenon::plain {

inline bool fits_round(const OpShape& shape) noexcept {
  const tenon_round_params& p = shape.op->params.round;
  return same_shape(shape.inputs[0], shape.outputs[0]) && p.format <= TENON_ROUND_FP4_FP8 &&
         p.segment > 0 && shape.inputs[0]->columns % p.segment == 0;
}

template <typename Math>
void run_round(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const auto x = step.activation(op.inputs[0]);
  auto out = step.activation(op.outputs[0]);
  step.for_each(static_cast<uint64_t>(x.rows()), 0, [&](uint64_t row, Real*) noexcept {
    const auto t = static_cast<Eigen::Index>(row);
    backends::round_values(op.params.round, x.row(t).data(), out.row(t).data(),
                           static_cast<uint64_t>(x.cols()));
  });
}

}  // namespace tenon::plain
