// mix_streams and sinkhorn: residual streams mixed by a matrix per row.
#pragma once

#include <cmath>

#include "backends/common/plain/plain_shape.h"
#include "backends/common/plain/plain_step.h"

namespace tenon::plain {

inline bool fits_mix_streams(const OpShape& shape) noexcept {
  const tenon_mix_streams_params& mix = shape.op->params.mix_streams;
  const tenon_slot* out = shape.outputs[0];
  if (!same_rows(shape.inputs[0], out) || mix.streams == 0 || mix.results == 0 ||
      shape.inputs[0]->columns % mix.streams != 0) {
    return false;
  }
  const uint64_t width = shape.inputs[0]->columns / mix.streams;
  const auto fits = [&](const tenon_slot* slot, uint64_t columns) {
    return slot == nullptr || (same_rows(slot, out) && slot->columns == columns);
  };
  const bool is_plain = mix.results == 1 || mix.results == mix.streams;
  return (shape.inputs[1] != nullptr || is_plain) &&
         (shape.inputs[2] == nullptr) == (shape.inputs[3] == nullptr) &&
         fits(shape.inputs[1], uint64_t{mix.streams} * mix.results) &&
         fits(shape.inputs[2], width) && fits(shape.inputs[3], mix.results) &&
         out->columns == width * mix.results;
}

inline bool fits_sinkhorn(const OpShape& shape) noexcept {
  const tenon_sinkhorn_params& sinkhorn = shape.op->params.sinkhorn;
  return same_shape(shape.inputs[0], shape.outputs[0]) && sinkhorn.size > 0 &&
         sinkhorn.iterations > 0 &&
         shape.inputs[0]->columns == uint64_t{sinkhorn.size} * sinkhorn.size;
}

template <typename Math>
void run_mix_streams(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const Eigen::Index streams = op.params.mix_streams.streams;
  const Eigen::Index results = op.params.mix_streams.results;
  const auto x = step.activation(op.inputs[0]);
  auto out = step.activation(op.outputs[0]);
  const Eigen::Index width = x.cols() / streams;
  const bool has_matrix = op.inputs[1] != TENON_NO_SLOT;
  const bool adds = op.inputs[2] != TENON_NO_SLOT;
  const auto matrix = step.activation(has_matrix ? op.inputs[1] : op.inputs[0]);
  const auto added = step.activation(adds ? op.inputs[2] : op.inputs[0]);
  const auto factors = step.activation(adds ? op.inputs[3] : op.inputs[0]);
  const auto share = [&](Eigen::Index t, Eigen::Index j, Eigen::Index i) {
    if (has_matrix) return matrix(t, j * results + i);
    return Real(results == 1 || i == j ? 1 : 0);
  };
  step.for_each(static_cast<uint64_t>(x.rows()), 0, [&](uint64_t row, Real*) noexcept {
    const auto t = static_cast<Eigen::Index>(row);
    for (Eigen::Index i = 0; i < results; ++i) {
      for (Eigen::Index c = 0; c < width; ++c) {
        Real sum = 0;
        for (Eigen::Index j = 0; j < streams; ++j) sum += share(t, j, i) * x(t, j * width + c);
        if (adds) sum += factors(t, i) * added(t, c);
        out(t, i * width + c) = sum;
      }
    }
  });
}

template <typename Math>
void run_sinkhorn(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const tenon_sinkhorn_params& p = op.params.sinkhorn;
  const Eigen::Index size = p.size;
  const Real epsilon = p.epsilon;
  const auto x = step.activation(op.inputs[0]);
  auto out = step.activation(op.outputs[0]);
  step.for_each(static_cast<uint64_t>(x.rows()), 0, [&](uint64_t row, Real*) noexcept {
    const auto t = static_cast<Eigen::Index>(row);
    const auto at = [&](Eigen::Index i, Eigen::Index j) -> Real& { return out(t, i * size + j); };
    for (Eigen::Index i = 0; i < size; ++i) {
      const auto logits = x.row(t).segment(i * size, size);
      const Real largest = logits.maxCoeff();
      Real sum = 0;
      for (Eigen::Index j = 0; j < size; ++j) sum += at(i, j) = std::exp(logits(j) - largest);
      for (Eigen::Index j = 0; j < size; ++j) at(i, j) = at(i, j) / sum + epsilon;
    }
    const auto divide = [&](bool columns) {
      for (Eigen::Index line = 0; line < size; ++line) {
        Real sum = epsilon;
        for (Eigen::Index k = 0; k < size; ++k) sum += columns ? at(k, line) : at(line, k);
        for (Eigen::Index k = 0; k < size; ++k) (columns ? at(k, line) : at(line, k)) /= sum;
      }
    };
    divide(true);
    for (uint32_t i = 1; i < p.iterations; ++i) {
      divide(false);
      divide(true);
    }
  });
}

}  // namespace tenon::plain
