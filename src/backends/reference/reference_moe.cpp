// moe_route, moe_linear, sigmoid_gate: mixtures of experts.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "backends/reference/reference_ops.h"
#include "backends/reference/reference_step.h"

namespace tenon::reference {
namespace {

/// tenon/backend.h, tenon_moe_route_params.
constexpr uint64_t kMaxExperts = 65536;

/// The number of an expert as an activation holds it.
uint64_t expert_number(double value, uint32_t experts) {
  if (value >= 0 && value < experts) return static_cast<uint64_t>(value);
  backends::refuse(TENON_BACKEND_STATE, "moe_linear: expert {} of {}", value, experts);
}

/// By what experts are ordered: one that is no number comes last.
double rank(const Matrix& logits, Eigen::Index t, uint64_t expert) {
  const double logit = logits(t, static_cast<Eigen::Index>(expert));
  return std::isnan(logit) ? -INFINITY : logit;
}

/// Softmax of the logits with the given numbers.
std::vector<double> softmax(const Matrix& logits, Eigen::Index t,
                            std::span<const uint64_t> numbers) {
  double largest = -INFINITY;
  for (const uint64_t i : numbers) {
    largest = std::max(largest, logits(t, static_cast<Eigen::Index>(i)));
  }
  std::vector<double> weights;
  double sum = 0;
  for (const uint64_t i : numbers) {
    weights.push_back(std::exp(logits(t, static_cast<Eigen::Index>(i)) - largest));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

/// An expert is the j-th that row t chose.
struct Choice {
  Eigen::Index t, j;
};

}  // namespace

bool fits_moe_route(const OpShape& shape) noexcept {
  const tenon_moe_route_params& route = shape.op->params.moe_route;
  return is_activation(shape.inputs[0]) && is_integers(shape.outputs[0], shape.inputs[0]) &&
         is_activation(shape.outputs[1], shape.inputs[0]->row_class) &&
         shape.inputs[0]->columns <= kMaxExperts && route.used >= 1 &&
         route.used <= shape.inputs[0]->columns && shape.outputs[0]->columns == route.used &&
         shape.outputs[1]->columns == route.used &&
         route.scoring <= TENON_MOE_SOFTMAX_CHOSEN;
}

bool fits_moe_linear(const OpShape& shape) noexcept {
  const tenon_moe_linear_params& moe = shape.op->params.moe_linear;
  const tenon_slot* weight = shape.inputs[2];
  if (!is_activation(shape.inputs[0]) || !is_integers(shape.inputs[1], shape.inputs[0]) ||
      !is_activation(shape.outputs[0]) || weight == nullptr || moe.experts == 0 ||
      weight->rows % moe.experts != 0 || !is_weight(weight, 0, weight->columns)) {
    return false;
  }
  const uint64_t used = shape.inputs[1]->columns;
  const bool weighted =
      is_activation(shape.inputs[3], shape.inputs[0]->row_class) && shape.inputs[3]->columns == used;
  const uint64_t columns = shape.inputs[0]->columns;
  const uint64_t rows = weight->rows / moe.experts;
  return shape.inputs[0]->row_class == shape.outputs[0]->row_class &&
         (columns == weight->columns || columns == used * weight->columns) && moe.sum <= 1 &&
         (moe.sum == 1 ? weighted : shape.inputs[3] == nullptr) &&
         shape.outputs[0]->columns == (moe.sum == 1 ? rows : used * rows);
}

bool fits_sigmoid_gate(const OpShape& shape) noexcept {
  return same_shape(shape.inputs[0], shape.outputs[0]) && is_activation(shape.inputs[1]) &&
         shape.inputs[1]->row_class == shape.outputs[0]->row_class && shape.inputs[1]->columns == 1;
}

void run_moe_route(StepRun& step, const tenon_op& op) {
  const Matrix logits = step.activation(op.inputs[0]);
  Matrix ids = step.activation(op.outputs[0]);
  Matrix out = step.activation(op.outputs[1]);
  const tenon_moe_route_params& route = op.params.moe_route;
  std::vector<uint64_t> order(static_cast<size_t>(logits.cols()));
  for (Eigen::Index t = 0; t < out.rows(); ++t) {
    std::iota(order.begin(), order.end(), uint64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](uint64_t a, uint64_t b) {
      return rank(logits, t, a) > rank(logits, t, b);
    });
    const bool all = route.scoring == TENON_MOE_SOFTMAX_ALL;
    const std::span<const uint64_t> weighed(order.data(), all ? order.size() : route.used);
    const std::vector<double> weights = softmax(logits, t, weighed);
    for (uint32_t j = 0; j < route.used; ++j) {
      ids(t, j) = static_cast<double>(order[j]);
      out(t, j) = route.scale * weights[j];
    }
  }
}

void run_moe_linear(StepRun& step, const tenon_op& op) {
  const tenon_moe_linear_params& moe = op.params.moe_linear;
  const Matrix in = step.activation(op.inputs[0]);
  const Matrix ids = step.activation(op.inputs[1]);
  const Matrix weights = step.activation(op.inputs[moe.sum == 1 ? 3 : 1]);
  Matrix out = step.activation(op.outputs[0]);
  const auto depth = static_cast<Eigen::Index>(step.slot(op.inputs[2]).columns);
  const uint64_t rows = step.slot(op.inputs[2]).rows / moe.experts;
  const Eigen::Index used = ids.cols();
  const bool parts = in.cols() != depth;
  std::vector<std::vector<Choice>> choices(moe.experts);
  for (Eigen::Index t = 0; t < out.rows(); ++t) {
    for (Eigen::Index j = 0; j < used; ++j) {
      choices[expert_number(ids(t, j), moe.experts)].push_back({t, j});
    }
  }
  if (moe.sum == 1) out.setZero();
  step.for_each(rows, static_cast<uint64_t>(depth), [&](uint64_t n, double* row) noexcept {
    const auto column = static_cast<Eigen::Index>(n);
    for (uint64_t expert = 0; expert < moe.experts; ++expert) {
      if (choices[expert].empty()) continue;
      step.weight_row(op.inputs[2], expert * rows + n, row);
      for (const auto& [t, j] : choices[expert]) {
        const ConstVector x(in.row(t).data() + (parts ? j * depth : 0), depth);
        const double y = x.dot(ConstVector(row, depth));
        if (moe.sum == 1) {
          out(t, column) += weights(t, j) * y;
        } else {
          out(t, j * static_cast<Eigen::Index>(rows) + column) = y;
        }
      }
    }
  });
}

void run_sigmoid_gate(StepRun& step, const tenon_op& op) {
  const Matrix in = step.activation(op.inputs[0]);
  const Matrix gate = step.activation(op.inputs[1]);
  Matrix out = step.activation(op.outputs[0]);
  for (Eigen::Index t = 0; t < out.rows(); ++t)
    out.row(t) = in.row(t) / (1 + std::exp(-gate(t, 0)));
}

}  // namespace tenon::reference
