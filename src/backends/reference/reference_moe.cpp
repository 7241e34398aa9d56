// moe_route and moe_linear: mixtures of experts.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

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

using Row = std::span<const double>;

/// What experts are ordered by: one that is no number comes last.
double rank(double score) { return std::isnan(score) ? -INFINITY : score; }

/// Numbers 0 .. ranks.size() - 1, the largest rank first, of equal ones the lower number.
std::vector<uint64_t> by_rank(Row ranks) {
  std::vector<uint64_t> order(ranks.size());
  std::iota(order.begin(), order.end(), uint64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](uint64_t a, uint64_t b) { return ranks[a] > ranks[b]; });
  return order;
}

/// Softmax of the logits with the given numbers.
std::vector<double> softmax(Row logits, std::span<const uint64_t> numbers) {
  double largest = -INFINITY;
  for (const uint64_t i : numbers) largest = std::max(largest, logits[i]);
  std::vector<double> weights;
  double sum = 0;
  for (const uint64_t i : numbers) {
    weights.push_back(std::exp(logits[i] - largest));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

/// The scores of all experts; of SOFTMAX_CHOSEN, which needs to know the chosen, the logits.
std::vector<double> scores_of(const tenon_moe_route_params& route, Row logits) {
  std::vector<double> scores(logits.begin(), logits.end());
  if (route.scoring == TENON_MOE_SIGMOID) {
    for (double& score : scores) score = 1 / (1 + std::exp(-score));
  } else if (route.scoring == TENON_MOE_SOFTMAX_ALL) {
    std::vector<uint64_t> all(scores.size());
    std::iota(all.begin(), all.end(), uint64_t{0});
    scores = softmax(logits, all);
  }
  return scores;
}

/// Experts of runs that are not among the largest get the lowest rank.
void keep_largest_groups(const tenon_moe_route_params& route, std::vector<double>& ranks) {
  if (route.groups <= 1) return;
  const size_t size = ranks.size() / route.groups;
  std::vector<double> totals;
  for (size_t g = 0; g < route.groups; ++g) {
    std::vector<double> run(ranks.begin() + static_cast<ptrdiff_t>(g * size),
                            ranks.begin() + static_cast<ptrdiff_t>((g + 1) * size));
    std::sort(run.begin(), run.end(), std::greater<>());
    totals.push_back(size == 1 ? run[0] : run[0] + run[1]);
  }
  const std::vector<uint64_t> order = by_rank(totals);
  for (size_t i = route.groups_used; i < order.size(); ++i) {
    std::fill_n(ranks.begin() + static_cast<ptrdiff_t>(order[i] * size), size, -INFINITY);
  }
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
         shape.outputs[1]->columns == route.used && route.scoring <= TENON_MOE_SIGMOID &&
         is_optional_vector(shape.inputs[1], shape.inputs[0]->columns) &&
         is_optional_vector(shape.inputs[2], shape.inputs[0]->columns) &&
         (route.groups <= 1 ||
          (shape.inputs[0]->columns % route.groups == 0 && route.groups_used <= route.groups &&
           route.used <= shape.inputs[0]->columns / route.groups * route.groups_used));
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
  const bool weights_fit =
      shape.inputs[3] == nullptr
          ? moe.weigh == TENON_MOE_WEIGHT_OUTPUTS
          : same_rows(shape.inputs[3], shape.inputs[0]) && shape.inputs[3]->columns == used;
  const uint64_t columns = shape.inputs[0]->columns;
  const uint64_t rows = weight->rows / moe.experts;
  const bool bias_fits =
      shape.inputs[4] == nullptr || is_weight(shape.inputs[4], moe.experts, rows);
  return same_rows(shape.inputs[0], shape.outputs[0]) &&
         (columns == weight->columns || columns == used * weight->columns) && moe.sum <= 1 &&
         moe.weigh <= TENON_MOE_WEIGHT_INPUTS && weights_fit && bias_fits &&
         shape.outputs[0]->columns == (moe.sum == 1 ? rows : used * rows);
}

void run_moe_route(StepRun& step, const tenon_op& op) {
  const Matrix logits = step.activation(op.inputs[0]);
  Matrix ids = step.activation(op.outputs[0]);
  Matrix out = step.activation(op.outputs[1]);
  const tenon_moe_route_params& route = op.params.moe_route;
  const std::vector<double> bias = step.weight_vector(op.inputs[1]);
  const std::vector<double> expert_scale = step.weight_vector(op.inputs[2]);
  for (Eigen::Index t = 0; t < out.rows(); ++t) {
    const Row row(logits.row(t).data(), static_cast<size_t>(logits.cols()));
    const std::vector<double> scores = scores_of(route, row);
    const bool orders_as_logits =
        route.scoring != TENON_MOE_SIGMOID && bias.empty() && route.groups <= 1;
    std::vector<double> ranks;
    for (size_t e = 0; e < row.size(); ++e) {
      const double score = orders_as_logits ? row[e] : scores[e] + (bias.empty() ? 0 : bias[e]);
      ranks.push_back(rank(score));
    }
    keep_largest_groups(route, ranks);
    const std::vector<uint64_t> order = by_rank(ranks);
    const std::span<const uint64_t> chosen(order.data(), route.used);
    std::vector<double> weights;
    if (route.scoring == TENON_MOE_SOFTMAX_CHOSEN) {
      weights = softmax(row, chosen);
    } else {
      for (const uint64_t e : chosen) weights.push_back(scores[e]);
    }
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    const double divisor = route.normalise == 1 ? std::max(sum, double{route.min_sum}) : 1;
    for (uint32_t j = 0; j < route.used; ++j) {
      const double own = expert_scale.empty() ? 1 : expert_scale[chosen[j]];
      ids(t, j) = static_cast<double>(chosen[j]);
      out(t, j) = weights[j] / divisor * route.scale * own;
    }
  }
}

void run_moe_linear(StepRun& step, const tenon_op& op) {
  const tenon_moe_linear_params& moe = op.params.moe_linear;
  const Matrix in = step.activation(op.inputs[0]);
  const Matrix ids = step.activation(op.inputs[1]);
  const bool weighted = op.inputs[3] != TENON_NO_SLOT;
  const Matrix weights = step.activation(op.inputs[weighted ? 3 : 1]);
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
  const std::vector<double> bias = step.weight_rows(op.inputs[4]);
  step.for_each(rows, static_cast<uint64_t>(depth), [&](uint64_t n, double* row) noexcept {
    const auto column = static_cast<Eigen::Index>(n);
    for (uint64_t expert = 0; expert < moe.experts; ++expert) {
      if (choices[expert].empty()) continue;
      step.weight_row(op.inputs[2], expert * rows + n, row);
      for (const auto& [t, j] : choices[expert]) {
        const ConstVector x(in.row(t).data() + (parts ? j * depth : 0), depth);
        const double w = weighted ? weights(t, j) : 1;
        const double b = bias.empty() ? 0 : bias[expert * rows + n];
        const double product = x.dot(ConstVector(row, depth));
        const double y = moe.weigh == TENON_MOE_WEIGHT_INPUTS ? w * product + b : w * (product + b);
        if (moe.sum == 1) {
          out(t, column) += y;
        } else {
          out(t, j * static_cast<Eigen::Index>(rows) + column) = y;
        }
      }
    }
  });
}

}  // namespace tenon::reference
