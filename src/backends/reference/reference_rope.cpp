// rope_angles and rope: rotary position embedding (Su et al., RoFormer, arXiv:2104.09864).
#include <cmath>

#include "backends/reference/reference_ops.h"
#include "backends/reference/reference_step.h"

namespace tenon::reference {

bool fits_rope_angles(const OpShape& shape) noexcept {
  const tenon_slot* frequencies = shape.inputs[0];
  return frequencies != nullptr && frequencies->kind == TENON_SLOT_CONSTANT &&
         frequencies->type == TENON_TYPE_F64 && frequencies->rows == 1 &&
         is_activation(shape.outputs[0], TENON_ROWS_TOKENS) && frequencies->columns <= UINT64_MAX / 2 &&
         shape.outputs[0]->columns == 2 * frequencies->columns;
}

bool fits_rope(const OpShape& shape) noexcept {
  const tenon_rope_params& rope = shape.op->params.rope;
  return same_shape(shape.inputs[0], shape.outputs[0]) &&
         is_activation(shape.outputs[0], TENON_ROWS_TOKENS) &&
         is_activation(shape.inputs[1], TENON_ROWS_TOKENS) && rope.style <= TENON_ROPE_HALVES &&
         rope.head_dim > 0 && shape.outputs[0]->columns % rope.head_dim == 0 &&
         shape.inputs[1]->columns % 2 == 0 && shape.inputs[1]->columns <= rope.head_dim;
}

void run_rope_angles(StepRun& step, const tenon_op& op) {
  const std::span<const double> frequencies = step.constant(op.inputs[0]);
  const double magnitude = op.params.rope_angles.magnitude;
  const auto pairs = static_cast<Eigen::Index>(frequencies.size());
  Matrix out = step.activation(op.outputs[0]);
  for (Eigen::Index t = 0; t < out.rows(); ++t) {
    for (Eigen::Index i = 0; i < pairs; ++i) {
      const double angle = step.step().positions[t] * frequencies[static_cast<size_t>(i)];
      out(t, i) = std::cos(angle) * magnitude;
      out(t, pairs + i) = std::sin(angle) * magnitude;
    }
  }
}

void run_rope(StepRun& step, const tenon_op& op) {
  const Matrix in = step.activation(op.inputs[0]);
  const Matrix angles = step.activation(op.inputs[1]);
  Matrix out = step.activation(op.outputs[0]);
  const Eigen::Index pairs = angles.cols() / 2;
  const bool halves = op.params.rope.style == TENON_ROPE_HALVES;
  out = in;
  for (Eigen::Index t = 0; t < in.rows(); ++t) {
    for (Eigen::Index head = 0; head < in.cols(); head += op.params.rope.head_dim) {
      for (Eigen::Index i = 0; i < pairs; ++i) {
        const Eigen::Index first = head + (halves ? i : 2 * i);
        const Eigen::Index second = halves ? first + pairs : first + 1;
        const double cosine = angles(t, i);
        const double sine = angles(t, pairs + i);
        out(t, first) = in(t, first) * cosine - in(t, second) * sine;
        out(t, second) = in(t, first) * sine + in(t, second) * cosine;
      }
    }
  }
}

}  // namespace tenon::reference
