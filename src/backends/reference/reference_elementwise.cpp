// glu, activate, add, mul, sigmoid_gate, scale and soft_cap: value by value.
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

double relu_squared(double x) { return relu(x) * relu(x); }

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

// Huang and Schlag, arXiv:2411.13010.
double xielu(const tenon_activate_params& p, double x) {
  if (x > 0) return p.alpha_p * x * x + p.beta * x;
  return p.alpha_n * (std::expm1(std::min(x, double{p.epsilon})) - x) + p.beta * x;
}

using Activation = double (*)(double);

// In the order of TENON_ACTIVATION_*; XIELU has parameters besides.
constexpr Activation kActivations[] = {
    silu,         gelu_erf,
    gelu_tanh,    relu,
    relu_squared, nullptr,
    sigmoid,      [](double x) { return std::tanh(x); },
    softplus,     [](double x) { return std::exp(x); },
};

/// The second operand of a sum or a product: value(t, column).
class Operand {
 public:
  Operand(StepRun& step, uint32_t slot)
      : columns_(static_cast<Eigen::Index>(step.slot(slot).columns)),
        vector_(step.slot(slot).kind == TENON_SLOT_WEIGHT ? step.weight_vector(slot)
                                                          : std::vector<double>()),
        values_(vector_.empty() ? step.activation(slot) : Matrix(vector_.data(), 1, columns_)) {}
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;

  [[nodiscard]] Eigen::Index columns() const { return columns_; }
  [[nodiscard]] double value(Eigen::Index t, Eigen::Index column) const {
    return values_(vector_.empty() ? t : 0, column);
  }

 private:
  Eigen::Index columns_;
  std::vector<double> vector_;
  Matrix values_;
};

/// Calls body(x, y) for each value x of input 0 and the value y of input 1 for its piece.
template <typename Body>
void combine(StepRun& step, const tenon_op& op, const Body& body) {
  const Matrix x = step.activation(op.inputs[0]);
  const Operand y(step, op.inputs[1]);
  Matrix out = step.activation(op.outputs[0]);
  const Eigen::Index piece = x.cols() / y.columns();
  for (Eigen::Index t = 0; t < x.rows(); ++t) {
    for (Eigen::Index c = 0; c < x.cols(); ++c) out(t, c) = body(x(t, c), y.value(t, c / piece));
  }
}

bool is_shared_by_pieces(const tenon_slot* y, const OpShape& shape) noexcept {
  return same_shape(shape.inputs[0], shape.outputs[0]) && y != nullptr && y->columns > 0 &&
         shape.inputs[0]->columns % y->columns == 0 && is_operand(y, shape.inputs[0], y->columns);
}

}  // namespace

bool fits_glu(const OpShape& shape) noexcept {
  return shape.op->params.glu.activation <= TENON_ACTIVATION_RELU &&
         same_shape(shape.inputs[0], shape.inputs[1]) &&
         same_shape(shape.inputs[0], shape.outputs[0]);
}

bool fits_activate(const OpShape& shape) noexcept {
  return shape.op->params.activate.activation < std::size(kActivations) &&
         same_shape(shape.inputs[0], shape.outputs[0]);
}

bool fits_elementwise(const OpShape& shape) noexcept {
  const bool two = shape.op->kind == TENON_OP_ADD;
  return same_shape(shape.inputs[0], shape.outputs[0]) &&
         (!two || is_operand(shape.inputs[1], shape.outputs[0], shape.outputs[0]->columns));
}

bool fits_mul(const OpShape& shape) noexcept { return is_shared_by_pieces(shape.inputs[1], shape); }

bool fits_sigmoid_gate(const OpShape& shape) noexcept {
  return is_activation(shape.inputs[1]) && is_shared_by_pieces(shape.inputs[1], shape);
}

void run_glu(StepRun& step, const tenon_op& op) {
  const tenon_glu_params& p = op.params.glu;
  const double alpha = p.alpha == 0 ? 1 : p.alpha;
  const auto activated = [&](double gate) {
    if (p.limit > 0) gate = std::min(gate, double{p.limit});
    if (p.activation == TENON_ACTIVATION_SILU) return gate * sigmoid(alpha * gate);
    return kActivations[p.activation](gate);
  };
  const auto clamped = [&](double up) {
    return p.limit > 0 ? std::clamp(up, -double{p.limit}, double{p.limit}) : up;
  };
  combine(step, op,
          [&](double gate, double up) { return activated(gate) * (clamped(up) + p.up_offset); });
}

void run_activate(StepRun& step, const tenon_op& op) {
  const tenon_activate_params& p = op.params.activate;
  const bool with_parameters = p.activation == TENON_ACTIVATION_XIELU;
  const Activation plain = kActivations[p.activation];
  step.activation(op.outputs[0]) = step.activation(op.inputs[0]).unaryExpr([&](double x) {
    return with_parameters ? xielu(p, x) : plain(x);
  });
}

void run_add(StepRun& step, const tenon_op& op) {
  combine(step, op, [](double x, double y) { return x + y; });
}

void run_mul(StepRun& step, const tenon_op& op) {
  combine(step, op, [](double x, double y) { return x * y; });
}

void run_sigmoid_gate(StepRun& step, const tenon_op& op) {
  combine(step, op, [](double x, double g) { return x * sigmoid(g); });
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
