// rope_angles and rope: rotary position embedding (Su et al., RoFormer, arXiv:2104.09864); and
// position_scale.
#pragma once

#include <algorithm>
#include <cmath>

#include "backends/common/plain/plain_shape.h"
#include "backends/common/plain/plain_step.h"

namespace tenon::plain {

/// True if absent, or a position part for each of `count` frequencies.
inline bool are_parts(const tenon_slot* slot, uint64_t count, uint32_t position_parts) noexcept {
  if (slot == nullptr) return true;
  if (slot->kind != TENON_SLOT_CONSTANT || slot->type != TENON_TYPE_F64 || slot->rows != 1 ||
      slot->columns != count || slot->data == nullptr) {
    return false;
  }
  const auto* parts = static_cast<const double*>(slot->data);
  return std::all_of(parts, parts + count,
                     [&](double part) { return part >= 0 && part < position_parts; });
}

inline bool fits_rope_angles(const OpShape& shape) noexcept {
  const tenon_slot* frequencies = shape.inputs[0];
  return frequencies != nullptr && frequencies->kind == TENON_SLOT_CONSTANT &&
         frequencies->type == TENON_TYPE_F64 && frequencies->rows == 1 &&
         is_activation(shape.outputs[0], TENON_ROWS_TOKENS) &&
         frequencies->columns <= UINT64_MAX / 2 &&
         shape.outputs[0]->columns == 2 * frequencies->columns &&
         are_parts(shape.inputs[1], frequencies->columns, shape.position_parts);
}

inline bool fits_position_scale(const OpShape& shape) noexcept {
  return is_activation(shape.inputs[0], TENON_ROWS_TOKENS) &&
         same_shape(shape.inputs[0], shape.outputs[0]) &&
         shape.op->params.position_scale.length > 0;
}

inline bool fits_rope(const OpShape& shape) noexcept {
  const tenon_rope_params& rope = shape.op->params.rope;
  return same_shape(shape.inputs[0], shape.outputs[0]) &&
         is_activation(shape.outputs[0], TENON_ROWS_TOKENS) &&
         is_activation(shape.inputs[1], TENON_ROWS_TOKENS) && rope.style <= TENON_ROPE_HALVES &&
         rope.head_dim > 0 && shape.outputs[0]->columns % rope.head_dim == 0 &&
         shape.inputs[1]->columns % 2 == 0 && shape.inputs[1]->columns <= rope.head_dim &&
         rope.offset <= rope.head_dim - shape.inputs[1]->columns;
}

template <typename Math>
void run_rope_angles(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const std::span<const double> frequencies = step.constant(op.inputs[0]);
  const bool by_parts = op.inputs[1] != TENON_NO_SLOT;
  const double magnitude = op.params.rope_angles.magnitude;
  const auto pairs = static_cast<Eigen::Index>(frequencies.size());
  auto out = step.activation(op.outputs[0]);
  for (Eigen::Index t = 0; t < out.rows(); ++t) {
    for (Eigen::Index i = 0; i < pairs; ++i) {
      const auto number = static_cast<size_t>(i);
      const double part = by_parts ? step.constant(op.inputs[1])[number] : 0;
      const double position = step.position(t, static_cast<uint32_t>(part));
      const double angle = (position + op.params.rope_angles.offset) * frequencies[number];
      out(t, i) = static_cast<Real>(std::cos(angle) * magnitude);
      out(t, pairs + i) = static_cast<Real>(std::sin(angle) * magnitude);
    }
  }
}

template <typename Math>
void run_rope(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const auto in = step.activation(op.inputs[0]);
  const auto angles = step.activation(op.inputs[1]);
  auto out = step.activation(op.outputs[0]);
  const Eigen::Index pairs = angles.cols() / 2;
  const bool halves = op.params.rope.style == TENON_ROPE_HALVES;
  step.for_each(static_cast<uint64_t>(in.rows()), 0, [&](uint64_t row, Real*) noexcept {
    const auto t = static_cast<Eigen::Index>(row);
    out.row(t) = in.row(t);
    for (Eigen::Index head = 0; head < in.cols(); head += op.params.rope.head_dim) {
      for (Eigen::Index i = 0; i < pairs; ++i) {
        const Eigen::Index first = head + op.params.rope.offset + (halves ? i : 2 * i);
        const Eigen::Index second = halves ? first + pairs : first + 1;
        const Real cosine = angles(t, i);
        const Real sine = angles(t, pairs + i);
        out(t, first) = in(t, first) * cosine - in(t, second) * sine;
        out(t, second) = in(t, first) * sine + in(t, second) * cosine;
      }
    }
  });
}

template <typename Math>
void run_position_scale(StepRun<Math>& step, const tenon_op& op) {
  const tenon_position_scale_params& p = op.params.position_scale;
  const auto in = step.activation(op.inputs[0]);
  auto out = step.activation(op.outputs[0]);
  for (Eigen::Index t = 0; t < in.rows(); ++t) {
    const double lengths = std::floor((1.0 * p.offset + step.position(t)) / p.length);
    out.row(t) = in.row(t) * static_cast<typename Math::Real>(1 + p.scale * std::log(lengths + 1));
  }
}

}  // namespace tenon::plain
