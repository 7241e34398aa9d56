#include <algorithm>
#include <cmath>

#include "backends/common/expert_numbers.h"
#include "backends/cpu/phases/expert_plan.h"
#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

/// Finds the `used` largest of logits [experts] in descending order, ties by number: numbers to ids
/// [used], logits to chosen [used]. NaN counts as the smallest.
template <typename Real>
void choose_largest(const Real* logits, uint32_t experts, uint32_t used, int32_t* ids,
                    Real* chosen) noexcept {
  uint32_t count = 0;
  for (uint32_t e = 0; e < experts; ++e) {
    const Real logit = std::isnan(logits[e]) ? -static_cast<Real>(INFINITY) : logits[e];
    if (count == used && !(logit > chosen[used - 1])) continue;
    uint32_t at = count == used ? used - 1 : count++;
    for (; at > 0 && logit > chosen[at - 1]; --at) {
      chosen[at] = chosen[at - 1];
      ids[at] = ids[at - 1];
    }
    chosen[at] = logit;
    ids[at] = static_cast<int32_t>(e);
  }
}

/// Routes a row by logits [experts] -> ids [used], weights [used].
void choose_experts(const tenon_moe_route_params& params, const float* logits, uint32_t experts,
                    int32_t* ids, float* weights) noexcept {
  choose_largest(logits, experts, params.used, ids, weights);
  const float largest = weights[0];
  double sum = 0;
  if (params.scoring == TENON_MOE_SOFTMAX_ALL) {
    for (uint32_t e = 0; e < experts; ++e) sum += std::exp(logits[e] - largest);
  }
  for (uint32_t j = 0; j < params.used; ++j) {
    // Reads the logit again, so that a NaN logit gives a NaN weight.
    weights[j] = std::exp(logits[ids[j]] - largest);
    if (params.scoring == TENON_MOE_SOFTMAX_CHOSEN) sum += weights[j];
  }
  const double factor = params.scale / sum;
  for (uint32_t j = 0; j < params.used; ++j) weights[j] = static_cast<float>(weights[j] * factor);
}

/// State of a route by scores: kScoreArrays arrays of a double per expert.
struct RouteByScores {
  const tenon_moe_route_params& params;
  const float* logits;  ///< [experts]
  uint32_t experts;
  const float* selection_bias;  ///< [experts] or NULL
  const float* expert_scale;    ///< [experts] or NULL
  const float* numbers;         ///< [used] expert numbers, or null to choose
  double* scratch;

  [[nodiscard]] double* scores() const { return scratch; }
  [[nodiscard]] double* ranks() const { return scratch + experts; }
  [[nodiscard]] double* chosen() const { return scratch + 2 * experts; }
  [[nodiscard]] double* totals() const { return scratch + 3 * experts; }
  [[nodiscard]] int32_t* group_ids() const {
    return reinterpret_cast<int32_t*>(scratch + 4 * experts);
  }
};

/// Uses f64: saturated scores in f32 would tie, and the lower number would win.
void find_scores(const RouteByScores& route) noexcept {
  double* scores = route.scores();
  std::copy_n(route.logits, route.experts, scores);
  if (route.params.scoring == TENON_MOE_SIGMOID) {
    for (uint32_t e = 0; e < route.experts; ++e) scores[e] = 1 / (1 + std::exp(-scores[e]));
  } else if (route.params.scoring == TENON_MOE_SQRT_SOFTPLUS) {
    for (uint32_t e = 0; e < route.experts; ++e) {
      scores[e] = std::sqrt(backends::softplus(scores[e]));
    }
  } else if (route.params.scoring == TENON_MOE_SOFTMAX_ALL) {
    double largest = -INFINITY;
    for (uint32_t e = 0; e < route.experts; ++e) largest = std::max(largest, scores[e]);
    double sum = 0;
    for (uint32_t e = 0; e < route.experts; ++e) {
      scores[e] = std::exp(scores[e] - largest);
      sum += scores[e];
    }
    for (uint32_t e = 0; e < route.experts; ++e) scores[e] /= sum;
  }
}

/// Sum of the two largest of `size` ranks.
double largest_two(const double* ranks, uint32_t size) noexcept {
  double largest[2] = {-INFINITY, -INFINITY};
  int32_t ids[2];
  const uint32_t count = std::min(size, 2u);
  choose_largest(ranks, size, count, ids, largest);
  return count == 1 ? largest[0] : largest[0] + largest[1];
}

/// Gives the lowest rank to experts outside the best groups.
void keep_largest_groups(const RouteByScores& route) noexcept {
  const uint32_t groups = route.params.groups;
  const uint32_t size = route.experts / groups;
  for (uint32_t g = 0; g < groups; ++g) {
    route.totals()[g] = largest_two(route.ranks() + g * size, size);
  }
  choose_largest(route.totals(), groups, route.params.groups_used, route.group_ids(),
                 route.chosen());
  double* kept = route.chosen();
  std::fill_n(kept, groups, 0.0);
  for (uint32_t i = 0; i < route.params.groups_used; ++i) kept[route.group_ids()[i]] = 1;
  for (uint32_t g = 0; g < groups; ++g) {
    if (kept[g] == 0) std::fill_n(route.ranks() + g * size, size, -INFINITY);
  }
}

/// Weights of SPARSE_MIXER: for each chosen expert, the softmax over it and the close experts not
/// chosen before it.
///   ids [used] -> weights [used]
void mix_sparsely(const RouteByScores& route, const int32_t* ids, double* weights) noexcept {
  const double* logits = route.scores();
  double* left = route.ranks();  // NaN once chosen
  std::copy_n(logits, route.experts, left);
  for (uint32_t j = 0; j < route.params.used; ++j) {
    const double largest = logits[ids[j]];
    double sum = 0;
    for (uint32_t e = 0; e < route.experts; ++e) {
      const double gap = (largest - left[e]) / std::max(std::abs(left[e]), largest);
      if (gap > route.params.closeness || std::isnan(left[e])) continue;
      sum += std::exp(left[e] - largest);
    }
    weights[j] = 1 / sum;
    left[ids[j]] = NAN;
  }
}

/// Numbers of the `used` experts with the largest biased scores.
void choose_ids(const RouteByScores& route, int32_t* ids) noexcept {
  const tenon_moe_route_params& params = route.params;
  for (uint32_t j = 0; route.numbers != nullptr && j < params.used; ++j) {
    ids[j] = static_cast<int32_t>(backends::told_expert(route.numbers[j], route.experts));
  }
  if (route.numbers != nullptr) return;
  double* ranks = route.ranks();
  for (uint32_t e = 0; e < route.experts; ++e) {
    const double bias = route.selection_bias == nullptr ? 0 : route.selection_bias[e];
    const double rank = route.scores()[e] + bias;
    ranks[e] = std::isnan(rank) ? -INFINITY : rank;
  }
  if (params.groups > 1) keep_largest_groups(route);
  choose_largest(ranks, route.experts, params.used, ids, route.chosen());
}

void choose_by_scores(const RouteByScores& route, int32_t* ids, float* weights) noexcept {
  const tenon_moe_route_params& params = route.params;
  find_scores(route);
  choose_ids(route, ids);
  double* chosen = route.chosen();
  const double first = route.scores()[ids[0]];
  double largest = first, sum = 0;
  for (uint32_t j = 1; j < params.used; ++j) largest = std::max(largest, route.scores()[ids[j]]);
  const bool softmax_chosen = params.scoring == TENON_MOE_SOFTMAX_CHOSEN;
  for (uint32_t j = 0; j < params.used; ++j) {
    const double score = route.scores()[ids[j]];
    chosen[j] = softmax_chosen ? std::exp(score - largest) : score;
    sum += chosen[j];
  }
  if (params.scoring == TENON_MOE_SPARSE_MIXER) mix_sparsely(route, ids, chosen);
  double divisor = softmax_chosen ? sum : 1;
  if (params.normalise == 1) divisor = std::max(sum, static_cast<double>(params.min_sum));
  for (uint32_t j = 0; j < params.used; ++j) {
    const double own = route.expert_scale == nullptr ? 1 : route.expert_scale[ids[j]];
    weights[j] = static_cast<float>(chosen[j] / divisor * params.scale * own);
  }
}

void run_route(OpRun& run, const Phase& phase, uint32_t row, uint32_t thread) noexcept {
  const tenon_op& op = phase.op;
  const RouteInfo& info = run.plan().routes[phase.route];
  const float* logits = run.f32_row(op.inputs[0], row);
  int32_t* ids = run.i32_row(op.outputs[0], row);
  float* weights = run.f32_row(op.outputs[1], row);
  if (info.by_scores) {
    const uint32_t numbers = op.inputs[3];
    choose_by_scores(
        {op.params.moe_route, logits, info.experts, run.vector(op.inputs[1]),
         run.vector(op.inputs[2]), numbers == TENON_NO_SLOT ? nullptr : run.f32_row(numbers, row),
         run.scratch(thread).scores},
        ids, weights);
  } else {
    choose_experts(op.params.moe_route, logits, info.experts, ids, weights);
  }
  ExpertPlan& plan = run.expert_plan(phase.route);
  const uint64_t rows = run.num_rows(phase.row_class);
  if (plan.finish_row(rows)) plan.sort(run.i32_row(op.outputs[0], 0), rows);
}

uint32_t moe_route_items(const OpRun& run, const Phase& phase) noexcept {
  return static_cast<uint32_t>(run.num_rows(phase.row_class));
}

void moe_route_scratch(const ScratchContext& context, const Phase& phase, ScratchSizes& sizes) {
  const RouteInfo& route = context.plan.routes[phase.route];
  if (route.by_scores)
    sizes.scores = std::max<uint64_t>(sizes.scores, kScoreArrays * route.experts);
}

}  // namespace

constexpr CpuOperation ops::moe_route{
    .kind = TENON_OP_MOE_ROUTE,
    .placement = Placement::Route,
    .phase = {.items = moe_route_items, .run = run_route, .small = true},
    .scratch = moe_route_scratch};

}  // namespace tenon::cpu
