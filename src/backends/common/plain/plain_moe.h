// moe_route and moe_linear: mixtures of experts.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "backends/common/expert_numbers.h"
#include "backends/common/plain/plain_shape.h"
#include "backends/common/plain/plain_step.h"

namespace tenon::plain {

/// Limit of tenon_moe_route_params (tenon/backend.h).
inline constexpr uint64_t kMaxExperts = 65536;

/// Expert number held in an activation. Throws STATE if it is out of range.
inline uint64_t expert_number(double value, uint32_t experts) {
  if (value >= 0 && value < experts) return static_cast<uint64_t>(value);
  backends::refuse(TENON_BACKEND_STATE, "moe_linear: expert {} of {}", value, experts);
}

using Scores = std::span<const double>;

/// Sort key of experts; NaN comes last.
inline double rank(double score) { return std::isnan(score) ? -INFINITY : score; }

using Lists = std::pmr::memory_resource*;

/// Numbers 0 .. ranks.size() - 1 by descending rank, ties by number.
inline StepVector<uint64_t> by_rank(Scores ranks, Lists lists) {
  StepVector<uint64_t> order(ranks.size(), lists);
  std::iota(order.begin(), order.end(), uint64_t{0});
  std::sort(order.begin(), order.end(), [&](uint64_t a, uint64_t b) {
    return ranks[a] != ranks[b] ? ranks[a] > ranks[b] : a < b;
  });
  return order;
}

/// Softmax over the logits of the given experts.
inline StepVector<double> softmax(Scores logits, std::span<const uint64_t> numbers, Lists lists) {
  double largest = -INFINITY;
  for (const uint64_t i : numbers) largest = std::max(largest, logits[i]);
  StepVector<double> weights(lists);
  double sum = 0;
  for (const uint64_t i : numbers) {
    weights.push_back(std::exp(logits[i] - largest));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

/// Scores of all experts; for SOFTMAX_CHOSEN, which needs the chosen ones, the logits.
inline StepVector<double> scores_of(const tenon_moe_route_params& route, Scores logits,
                                    Lists lists) {
  StepVector<double> scores(logits.begin(), logits.end(), lists);
  if (route.scoring == TENON_MOE_SIGMOID) {
    for (double& score : scores) score = 1 / (1 + std::exp(-score));
  } else if (route.scoring == TENON_MOE_SQRT_SOFTPLUS) {
    for (double& score : scores) score = std::sqrt(backends::softplus(score));
  } else if (route.scoring == TENON_MOE_SOFTMAX_ALL) {
    StepVector<uint64_t> all(scores.size(), lists);
    std::iota(all.begin(), all.end(), uint64_t{0});
    scores = softmax(logits, all, lists);
  }
  return scores;
}

/// Weights of SPARSE_MIXER: for each chosen expert, the softmax over it and the experts close to
/// it.
///   order  expert numbers by descending logit
inline StepVector<double> sparse_mixer(const tenon_moe_route_params& route, Scores logits,
                                       std::span<const uint64_t> order, Lists lists) {
  StepVector<double> weights(lists);
  for (size_t j = 0; j < route.used; ++j) {
    const double largest = logits[order[j]];
    double sum = 0;
    for (const uint64_t i : order.subspan(j)) {
      const double gap = (largest - logits[i]) / std::max(std::abs(logits[i]), largest);
      if (!(gap > route.closeness)) sum += std::exp(logits[i] - largest);
    }
    weights.push_back(1 / sum);
  }
  return weights;
}

/// Gives the lowest rank to experts outside the best groups.
inline void keep_largest_groups(const tenon_moe_route_params& route, StepVector<double>& ranks) {
  if (route.groups <= 1) return;
  const size_t size = ranks.size() / route.groups;
  const Lists lists = ranks.get_allocator().resource();
  StepVector<double> totals(lists);
  for (size_t g = 0; g < route.groups; ++g) {
    StepVector<double> run(ranks.begin() + static_cast<ptrdiff_t>(g * size),
                           ranks.begin() + static_cast<ptrdiff_t>((g + 1) * size), lists);
    std::sort(run.begin(), run.end(), std::greater<>());
    totals.push_back(rank(size == 1 ? run[0] : run[0] + run[1]));
  }
  const StepVector<uint64_t> order = by_rank(totals, lists);
  for (size_t i = route.groups_used; i < order.size(); ++i) {
    std::fill_n(ranks.begin() + static_cast<ptrdiff_t>(order[i] * size), size, -INFINITY);
  }
}

inline bool fits_moe_route(const OpShape& shape) noexcept {
  const tenon_moe_route_params& route = shape.op->params.moe_route;
  return is_activation(shape.inputs[0]) && is_integers(shape.outputs[0], shape.inputs[0]) &&
         is_activation(shape.outputs[1], shape.inputs[0]->row_class) &&
         shape.inputs[0]->columns <= kMaxExperts && route.used >= 1 &&
         route.used <= shape.inputs[0]->columns && shape.outputs[0]->columns == route.used &&
         shape.outputs[1]->columns == route.used && route.scoring <= TENON_MOE_SQRT_SOFTPLUS &&
         (shape.inputs[3] == nullptr ||
          (same_rows(shape.inputs[3], shape.inputs[0]) && shape.inputs[3]->columns == route.used &&
           shape.inputs[1] == nullptr && route.groups <= 1 &&
           route.scoring != TENON_MOE_SPARSE_MIXER)) &&
         (route.scoring != TENON_MOE_SPARSE_MIXER || shape.inputs[1] == nullptr) &&
         is_optional_vector(shape.inputs[1], shape.inputs[0]->columns) &&
         is_optional_vector(shape.inputs[2], shape.inputs[0]->columns) &&
         (route.groups <= 1 ||
          (shape.inputs[0]->columns % route.groups == 0 && route.groups_used <= route.groups &&
           route.used <= shape.inputs[0]->columns / route.groups * route.groups_used));
}

inline bool fits_moe_linear(const OpShape& shape) noexcept {
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

/// Computes in f64 for any `Math`: rows are short, and a rounding tie would choose another expert.
template <typename Math>
void run_moe_route(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const auto logits = step.activation(op.inputs[0]);
  auto ids = step.activation(op.outputs[0]);
  auto out = step.activation(op.outputs[1]);
  const tenon_moe_route_params& route = op.params.moe_route;
  const auto bias = step.weight_vector(op.inputs[1]);
  const auto expert_scale = step.weight_vector(op.inputs[2]);
  const bool is_told = op.inputs[3] != TENON_NO_SLOT;
  const auto numbers = step.activation(op.inputs[is_told ? 3 : 0]);
  const Lists lists = step.lists();
  for (Eigen::Index t = 0; t < out.rows(); ++t) {
    const Real* first = logits.row(t).data();
    const StepVector<double> row(first, first + logits.cols(), lists);
    const StepVector<double> scores = scores_of(route, row, lists);
    const bool orders_as_logits = route.scoring != TENON_MOE_SIGMOID &&
                                  route.scoring != TENON_MOE_SQRT_SOFTPLUS && bias.empty() &&
                                  route.groups <= 1;
    StepVector<double> ranks(lists);
    for (size_t e = 0; e < row.size(); ++e) {
      const double score = orders_as_logits ? row[e] : scores[e] + (bias.empty() ? 0 : bias[e]);
      ranks.push_back(rank(score));
    }
    keep_largest_groups(route, ranks);
    StepVector<uint64_t> order = by_rank(ranks, lists);
    for (uint32_t j = 0; is_told && j < route.used; ++j) {
      order[j] = backends::told_expert(numbers(t, j), static_cast<uint32_t>(row.size()));
    }
    const std::span<const uint64_t> chosen(order.data(), route.used);
    StepVector<double> weights(lists);
    if (route.scoring == TENON_MOE_SOFTMAX_CHOSEN) {
      weights = softmax(row, chosen, lists);
    } else if (route.scoring == TENON_MOE_SPARSE_MIXER) {
      weights = sparse_mixer(route, row, order, lists);
    } else {
      for (const uint64_t e : chosen) weights.push_back(scores[e]);
    }
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    const double divisor = route.normalise == 1 ? std::max(sum, double{route.min_sum}) : 1;
    for (uint32_t j = 0; j < route.used; ++j) {
      const double own = expert_scale.empty() ? 1 : expert_scale[chosen[j]];
      ids(t, j) = static_cast<Real>(chosen[j]);
      out(t, j) = static_cast<Real>(weights[j] / divisor * route.scale * own);
    }
  }
}

/// The j-th expert chosen by row t.
struct Choice {
  Eigen::Index t, j;
};

/// A moe_linear: the rows of each expert, their inputs, and the destinations of the products.
template <typename Math>
class ExpertProducts {
 public:
  using Real = typename Math::Real;

  /// Throws STATE for an unknown expert. Clears sums.
  ExpertProducts(StepRun<Math>& step, const tenon_op& op)
      : params_(op.params.moe_linear),
        depth_(step.slot(op.inputs[2]).columns),
        rows_(step.slot(op.inputs[2]).rows / params_.experts),
        weighted_(op.inputs[3] != TENON_NO_SLOT),
        in_(step.activation(op.inputs[0])),
        weights_(step.activation(op.inputs[weighted_ ? 3 : 1])),
        out_(step.activation(op.outputs[0])),
        bias_(step.weight_rows(op.inputs[4])),
        choices_(params_.experts, step.lists()) {
    const auto ids = step.activation(op.inputs[1]);
    for (Eigen::Index t = 0; t < ids.rows(); ++t) {
      for (Eigen::Index j = 0; j < ids.cols(); ++j) {
        choices_[expert_number(ids(t, j), params_.experts)].push_back({t, j});
      }
    }
    if (params_.sum == 1) out_.setZero();
  }

  [[nodiscard]] uint64_t num_experts() const { return params_.experts; }
  /// Columns per expert matrix.
  [[nodiscard]] uint64_t depth() const { return depth_; }
  /// Rows per expert matrix.
  [[nodiscard]] uint64_t rows() const { return rows_; }
  [[nodiscard]] std::span<const Choice> choices(uint64_t expert) const { return choices_[expert]; }
  /// Input of a choice: [depth].
  [[nodiscard]] const Real* input(const Choice& choice) const {
    const bool parts = static_cast<uint64_t>(in_.cols()) != depth_;
    return in_.row(choice.t).data() + (parts ? static_cast<uint64_t>(choice.j) * depth_ : 0);
  }
  /// Stores the product of a choice with row `n` of its expert's matrix. Calls with equal n and row
  /// must not run concurrently.
  void put(const Choice& choice, uint64_t expert, uint64_t n, Real product) {
    const auto& [t, j] = choice;
    const Real w = weighted_ ? weights_(t, j) : 1;
    const Real b = bias_.empty() ? 0 : bias_[expert * rows_ + n];
    const bool weighs_inputs = params_.weigh == TENON_MOE_WEIGHT_INPUTS;
    const Real y = weighs_inputs ? w * product + b : w * (product + b);
    const auto column = static_cast<Eigen::Index>(n);
    if (params_.sum == 1) {
      out_(t, column) += y;
    } else {
      out_(t, j * static_cast<Eigen::Index>(rows_) + column) = y;
    }
  }

 private:
  const tenon_moe_linear_params& params_;
  uint64_t depth_;
  uint64_t rows_;
  bool weighted_;
  Matrix<Real> in_;
  Matrix<Real> weights_;
  Matrix<Real> out_;
  StepVector<Real> bias_;
  StepVector<StepVector<Choice>> choices_;  ///< by expert
};

template <typename Math>
void run_moe_linear(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  ExpertProducts<Math> products(step, op);
  const auto depth = static_cast<Eigen::Index>(products.depth());
  step.for_each(products.rows(), products.depth(), [&](uint64_t n, Real* row) noexcept {
    for (uint64_t expert = 0; expert < products.num_experts(); ++expert) {
      if (products.choices(expert).empty()) continue;
      step.weight_row(op.inputs[2], expert * products.rows() + n, row);
      for (const Choice& choice : products.choices(expert)) {
        const ConstVector<Real> x(products.input(choice), depth);
        products.put(choice, expert, n, x.dot(ConstVector<Real>(row, depth)));
      }
    }
  });
}

}  // namespace tenon::plain
