// glu, add, scale and soft_cap: value by value.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "backends/reference/reference_ops.h"
#include "backends/reference/reference_step.h"

namespace tenon::reference {
namespace {

double silu(double x) { return x / (1 + std::exp(-x)); }

double gelu_erf(double x) { return x / 2 * (1 + std::erf(x / std::numbers::sqrt2)); }

// Hendrycks and Gimpel, arXiv:1606.08415, section 2.
double gelu_tanh(double x) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return x / 2 * (1 + std::tanh(inner));
}

double relu(double x) { return std::max(x, 0.0); }

using Activation = double (*)(double);

// In the order of TENON_ACTIVATION_*.
constexpr Activation kActivations[] = {silu, gelu_erf, gelu_tanh, relu};

}  // namespace

bool fits_glu(const OpShape& shape) noexcept {
  return shape.op->params.glu.activation < std::size(kActivations) &&
         same_shape(shape.inputs[0], shape.inputs[1]) && same_shape(shape.inputs[0], shape.outputs[0]);
}

bool fits_elementwise(const OpShape& shape) noexcept {
  const bool two = shape.op->kind == TENON_OP_ADD;
  return same_shape(shape.inputs[0], shape.outputs[0]) &&
         (!two || same_shape(shape.inputs[1], shape.outputs[0]));
}

void run_glu(StepRun& step, const tenon_op& op) {
  const Matrix gate = step.activation(op.inputs[0]);
  const Matrix up = step.activation(op.inputs[1]);
  const Activation activation = kActivations[op.params.glu.activation];
  step.activation(op.outputs[0]) = gate.unaryExpr(activation).cwiseProduct(up);
}

void run_add(StepRun& step, const tenon_op& op) {
  step.activation(op.outputs[0]) = step.activation(op.inputs[0]) + step.activation(op.inputs[1]);
}

void run_scale(StepRun& step, const tenon_op& op) {
  const double factor = op.params.scale.factor;
  step.activation(op.outputs[0]) = step.activation(op.inputs[0]) * factor;
}

void run_soft_cap(StepRun& step, const tenon_op& op) {
  const double cap = op.params.soft_cap.cap;
  step.activation(op.outputs[0]) =
      step.activation(op.inputs[0]).unaryExpr([cap](double x) { return cap * std::tanh(x / cap); });
}

}  // namespace tenon::reference
