// glu, activate, add, mul, sigmoid_gate, scale and soft_cap: value by value.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "backends/common/plain/plain_shape.h"
#include "backends/common/plain/plain_step.h"

namespace tenon::plain {

template <typename Real>
Real sigmoid(Real x) {
  return 1 / (1 + std::exp(-x));
}

template <typename Real>
Real silu(Real x) {
  return x / (1 + std::exp(-x));
}

template <typename Real>
Real gelu_erf(Real x) {
  return x / 2 * (1 + std::erf(x / std::numbers::sqrt2_v<Real>));
}

// Hendrycks and Gimpel, arXiv:1606.08415, section 2.
template <typename Real>
Real gelu_tanh(Real x) {
  const Real inner = std::sqrt(2 / std::numbers::pi_v<Real>) * (x + Real(0.044715) * x * x * x);
  return x / 2 * (1 + std::tanh(inner));
}

template <typename Real>
Real relu(Real x) {
  return std::max(x, Real{0});
}

template <typename Real>
Real relu_squared(Real x) {
  return relu(x) * relu(x);
}

template <typename Real>
Real softplus(Real x) {
  return std::max(x, Real{0}) + std::log1p(std::exp(-std::abs(x)));
}

// Huang and Schlag, arXiv:2411.13010.
template <typename Real>
Real xielu(const tenon_activate_params& p, Real x) {
  if (x > 0) return p.alpha_p * x * x + p.beta * x;
  return p.alpha_n * (std::expm1(std::min(x, Real{p.epsilon})) - x) + p.beta * x;
}

template <typename Real>
Real signed_root(Real epsilon, Real x) {
  return x == 0 ? x : std::copysign(std::sqrt(std::max(std::abs(x), epsilon)), x);
}

// Indexed by TENON_ACTIVATION_*; XIELU and SIGNED_ROOT take parameters and are apart.
template <typename Real>
inline constexpr Real (*kActivations[])(Real) = {
    silu<Real>,
    gelu_erf<Real>,
    gelu_tanh<Real>,
    relu<Real>,
    relu_squared<Real>,
    nullptr,
    sigmoid<Real>,
    [](Real x) { return std::tanh(x); },
    softplus<Real>,
    [](Real x) { return std::exp(x); },
    nullptr,
};

/// Second operand of a sum or product: value(t, column).
template <typename Math>
class Operand {
 public:
  using Real = typename Math::Real;

  Operand(StepRun<Math>& step, uint32_t slot)
      : columns_(static_cast<Eigen::Index>(step.slot(slot).columns)),
        vector_(step.slot(slot).kind == TENON_SLOT_WEIGHT ? step.weight_vector(slot)
                                                          : step.template list<Real>()),
        values_(vector_.empty() ? step.activation(slot)
                                : Matrix<Real>(vector_.data(), 1, columns_)) {}
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;

  [[nodiscard]] Eigen::Index columns() const { return columns_; }
  [[nodiscard]] Real value(Eigen::Index t, Eigen::Index column) const {
    return values_(vector_.empty() ? t : 0, column);
  }

 private:
  Eigen::Index columns_;
  StepVector<Real> vector_;
  Matrix<Real> values_;
};

/// Calls body(x, y) for each value x of input 0 and the value y of input 1 for its piece.
template <typename Math, typename Body>
void combine(StepRun<Math>& step, const tenon_op& op, const Body& body) {
  using Real = typename Math::Real;
  const auto x = step.activation(op.inputs[0]);
  const Operand<Math> y(step, op.inputs[1]);
  auto out = step.activation(op.outputs[0]);
  const Eigen::Index piece = x.cols() / y.columns();
  step.for_each(static_cast<uint64_t>(x.rows()), 0, [&](uint64_t row, Real*) noexcept {
    const auto t = static_cast<Eigen::Index>(row);
    for (Eigen::Index j = 0, c = 0; j < y.columns(); ++j) {
      for (const Eigen::Index end = c + piece; c < end; ++c)
        out(t, c) = body(x(t, c), y.value(t, j));
    }
  });
}

/// Calls body(x) for each value x of input 0.
template <typename Math, typename Body>
void transform(StepRun<Math>& step, const tenon_op& op, const Body& body) {
  using Real = typename Math::Real;
  const auto x = step.activation(op.inputs[0]);
  auto out = step.activation(op.outputs[0]);
  step.for_each(static_cast<uint64_t>(x.rows()), 0, [&](uint64_t row, Real*) noexcept {
    const auto t = static_cast<Eigen::Index>(row);
    for (Eigen::Index c = 0; c < x.cols(); ++c) out(t, c) = body(x(t, c));
  });
}

inline bool is_shared_by_pieces(const tenon_slot* y, const OpShape& shape) noexcept {
  return same_shape(shape.inputs[0], shape.outputs[0]) && y != nullptr && y->columns > 0 &&
         shape.inputs[0]->columns % y->columns == 0 && is_operand(y, shape.inputs[0], y->columns);
}

inline bool fits_glu(const OpShape& shape) noexcept {
  return shape.op->params.glu.activation <= TENON_ACTIVATION_RELU &&
         same_shape(shape.inputs[0], shape.inputs[1]) &&
         same_shape(shape.inputs[0], shape.outputs[0]);
}

inline bool fits_activate(const OpShape& shape) noexcept {
  return shape.op->params.activate.activation < std::size(kActivations<float>) &&
         same_shape(shape.inputs[0], shape.outputs[0]);
}

inline bool fits_add(const OpShape& shape) noexcept {
  return same_shape(shape.inputs[0], shape.outputs[0]) &&
         is_operand(shape.inputs[1], shape.outputs[0], shape.outputs[0]->columns);
}

inline bool fits_scale(const OpShape& shape) noexcept {
  return same_shape(shape.inputs[0], shape.outputs[0]);
}

inline bool fits_soft_cap(const OpShape& shape) noexcept {
  return same_shape(shape.inputs[0], shape.outputs[0]);
}

inline bool fits_mul(const OpShape& shape) noexcept {
  return is_shared_by_pieces(shape.inputs[1], shape);
}

inline bool fits_sigmoid_gate(const OpShape& shape) noexcept {
  return is_activation(shape.inputs[1]) && is_shared_by_pieces(shape.inputs[1], shape);
}

template <typename Math>
void run_glu(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const tenon_glu_params& p = op.params.glu;
  const Real alpha = p.alpha == 0 ? 1 : p.alpha;
  const Real limit = p.limit;
  const auto limited = [&](Real gate) { return limit > 0 ? std::min(gate, limit) : gate; };
  const auto act = [&](Real gate) {
    if (p.activation == TENON_ACTIVATION_SILU) return gate * sigmoid(alpha * gate);
    return kActivations<Real>[p.activation](gate);
  };
  const auto activated = [&](Real gate) {
    return p.limit_after != 0 ? limited(act(gate)) : act(limited(gate));
  };
  const auto clamped = [&](Real up) { return limit > 0 ? std::clamp(up, -limit, limit) : up; };
  combine(step, op,
          [&](Real gate, Real up) { return activated(gate) * (clamped(up) + p.up_offset); });
}

template <typename Math>
void run_activate(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const tenon_activate_params& p = op.params.activate;
  if (p.activation == TENON_ACTIVATION_XIELU) {
    transform(step, op, [&](Real x) { return xielu(p, x); });
  } else if (p.activation == TENON_ACTIVATION_SIGNED_ROOT) {
    transform(step, op, [&](Real x) { return signed_root(Real{p.epsilon}, x); });
  } else {
    transform(step, op, kActivations<Real>[p.activation]);
  }
}

template <typename Math>
void run_add(StepRun<Math>& step, const tenon_op& op) {
  combine(step, op, [](auto x, auto y) { return x + y; });
}

template <typename Math>
void run_mul(StepRun<Math>& step, const tenon_op& op) {
  combine(step, op, [](auto x, auto y) { return x * y; });
}

template <typename Math>
void run_sigmoid_gate(StepRun<Math>& step, const tenon_op& op) {
  combine(step, op, [](auto x, auto g) { return x * sigmoid(g); });
}

template <typename Math>
void run_scale(StepRun<Math>& step, const tenon_op& op) {
  const auto& p = op.params.scale;
  transform(step, op, [p](auto x) { return x * p.factor + p.offset; });
}

template <typename Math>
void run_soft_cap(StepRun<Math>& step, const tenon_op& op) {
  const typename Math::Real cap = op.params.soft_cap.cap;
  transform(step, op, [cap](auto x) { return cap * std::tanh(x / cap); });
}

}  // namespace tenon::plain
