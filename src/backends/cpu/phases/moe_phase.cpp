// The phases of mixtures of experts of a PhaseRunner: choosing, gathering, multiplying.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/common/expert_numbers.h"
#include "backends/cpu/phases/expert_plan.h"
#include "backends/cpu/phases/phase_runner.h"

namespace tenon::cpu {
namespace {

uint32_t num_blocks(const ExpertTask& task) {
  return static_cast<uint32_t>((task.columns + task.block - 1) / task.block);
}

/// The `used` largest of logits [experts], the largest first, of equal ones the first one first:
/// numbers to ids [used], logits to chosen [used]. What is no number is smaller than all others.
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

/// One row of a moe_route by logits [experts] -> ids [used], weights [used].
void choose_experts(const tenon_moe_route_params& params, const float* logits, uint32_t experts,
                    int32_t* ids, float* weights) noexcept {
  choose_largest(logits, experts, params.used, ids, weights);
  const float largest = weights[0];
  double sum = 0;
  if (params.scoring == TENON_MOE_SOFTMAX_ALL) {
    for (uint32_t e = 0; e < experts; ++e) sum += std::exp(logits[e] - largest);
  }
  for (uint32_t j = 0; j < params.used; ++j) {
    // Read again, so that a logit that is no number makes a weight that is none.
    weights[j] = std::exp(logits[ids[j]] - largest);
    if (params.scoring == TENON_MOE_SOFTMAX_CHOSEN) sum += weights[j];
  }
  const double factor = params.scale / sum;
  for (uint32_t j = 0; j < params.used; ++j) weights[j] = static_cast<float>(weights[j] * factor);
}

/// What a route by scores works with: kScoreArrays arrays of a double for each expert.
struct RouteByScores {
  const tenon_moe_route_params& params;
  const float* logits;  ///< [experts]
  uint32_t experts;
  const float* selection_bias;  ///< [experts] or NULL
  const float* expert_scale;    ///< [experts] or NULL
  const float* numbers;         ///< [used] or NULL: the experts
  double* scratch;

  [[nodiscard]] double* scores() const { return scratch; }
  [[nodiscard]] double* ranks() const { return scratch + experts; }
  [[nodiscard]] double* chosen() const { return scratch + 2 * experts; }
  [[nodiscard]] double* totals() const { return scratch + 3 * experts; }
  [[nodiscard]] int32_t* group_ids() const {
    return reinterpret_cast<int32_t*>(scratch + 4 * experts);
  }
};

/// In double precision: saturated scores in f32 would be equal, and the lower number chosen.
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

/// The sum of the two largest of `size` ranks.
double largest_two(const double* ranks, uint32_t size) noexcept {
  double largest[2] = {-INFINITY, -INFINITY};
  int32_t ids[2];
  const uint32_t count = std::min(size, 2u);
  choose_largest(ranks, size, count, ids, largest);
  return count == 1 ? largest[0] : largest[0] + largest[1];
}

/// Gives experts of runs that are not among the largest the lowest rank.
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

/// The weights of SPARSE_MIXER: of each chosen one, the softmax over it and those that come close
/// and were not chosen before it.
///   ids [used] -> weights [used]
void mix_sparsely(const RouteByScores& route, const int32_t* ids, double* weights) noexcept {
  const double* logits = route.scores();
  double* left = route.ranks();  // NaN once they are chosen
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

/// The numbers of the `used` experts with the largest scores, biases included.
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

}  // namespace

uint32_t PhaseRunner::num_expert_items(const Phase& phase) const noexcept {
  const ExpertPlan& plan = x_.expert_plans_[phase.route];
  if (phase.kind == PhaseKind::Gather) {
    return one_row_for_all(phase) ? std::min(plan.num_pairs(), 1u) : plan.num_pairs();
  }
  uint32_t items = 0;
  for (const ExpertTask& task : phase.experts) items += plan.num_active() * num_blocks(task);
  return items;
}

/// A step of one row: all its experts read the same, gathered once. Not where one was told twice,
/// which reads two rows.
bool PhaseRunner::one_row_for_all(const Phase& phase) const noexcept {
  const GatheredRows& rows = x_.plan_.gathered[phase.gathered];
  const ExpertPlan& plan = x_.expert_plans_[rows.route];
  return rows.by_row && !rows.weighted && num_rows(phase.row_class) == 1 &&
         plan.num_active() == plan.num_pairs();
}

void PhaseRunner::run_route(const Phase& phase, uint64_t row, uint32_t thread) noexcept {
  const tenon_op& op = phase.rows[0].op;
  const RouteInfo& info = x_.plan_.routes[phase.route];
  const float* logits = f32_row(op.inputs[0], row);
  int32_t* ids = i32_row(op.outputs[0], row);
  float* weights = f32_row(op.outputs[1], row);
  if (info.by_scores) {
    const uint32_t numbers = op.inputs[3];
    choose_by_scores(
        {op.params.moe_route, logits, info.experts, vector(op.inputs[1]), vector(op.inputs[2]),
         numbers == TENON_NO_SLOT ? nullptr : f32_row(numbers, row), x_.scratch_[thread].scores},
        ids, weights);
  } else {
    choose_experts(op.params.moe_route, logits, info.experts, ids, weights);
  }
  ExpertPlan& plan = x_.expert_plans_[phase.route];
  const uint64_t rows = num_rows(phase.row_class);
  if (plan.finish_row(rows)) plan.sort(i32_row(op.outputs[0], 0), rows);
}

void PhaseRunner::run_gather(const Phase& phase, uint32_t item) noexcept {
  const ExpertPlan& plan = x_.expert_plans_[phase.route];
  const GatheredRows& rows = x_.plan_.gathered[phase.gathered];
  const Executable::Activation& to = x_.gathered_[phase.gathered];
  const ExpertRows& expert = plan.expert_of(item);
  const uint32_t pair = plan.pair(item);
  const uint64_t source_row = rows.by_row ? pair / plan.used() : pair;
  const float* from = f32_row(rows.source, 0) + source_row * rows.columns;
  const uint64_t place = expert.place + (item - expert.first);
  float* gathered = rows.floats ? to.f32 + place * rows.columns : nullptr;
  if (rows.weighted) {
    const uint32_t weights = x_.plan_.routes[phase.route].weights;
    k_.scale(from, f32_row(weights, pair / plan.used())[pair % plan.used()], gathered,
             rows.columns);
    from = gathered;
  }
  if (rows.formats != 0) {
    k_.quantise(from, rows.columns, rows_from(to.quantised, expert.place, expert.num_rows),
                item - expert.first, 1, 0, rows.columns);
  }
  if (rows.floats && !rows.weighted) std::memcpy(gathered, from, rows.columns * sizeof(float));
}

uint32_t PhaseRunner::run_experts(const Phase& phase, uint32_t item, uint32_t most,
                                  uint32_t thread) noexcept {
  const ExpertPlan& plan = x_.expert_plans_[phase.route];
  const ExpertTask* task = phase.experts.data();
  while (item >= plan.num_active() * num_blocks(*task)) {
    item -= plan.num_active() * num_blocks(*task++);
  }
  const ExpertRows& expert = plan.active(item / num_blocks(*task));
  const uint32_t first_block = item % num_blocks(*task);
  const uint32_t count = std::min({most, num_blocks(*task) - first_block,
                                   static_cast<uint32_t>(joined_width(task->block) / task->block)});
  const Executable::ThreadScratch& scratch = x_.scratch_[thread];
  ColumnBlock block{};
  block.first = first_block * task->block;
  block.width = std::min(count * task->block, task->columns - block.first);
  block.num_rows = expert.num_rows;
  block.y = scratch.y;
  block.y2 = scratch.y2;
  const Executable::Activation& rows = x_.gathered_[phase.gathered];
  const uint64_t place = one_row_for_all(phase) ? 0 : expert.place;
  LinearInput input{};
  const GatheredRows& gathered = x_.plan_.gathered[phase.gathered];
  if (gathered.formats != 0) input.quantised = rows_from(rows.quantised, place, expert.num_rows);
  if (gathered.floats) input.f32 = rows.f32 + place * gathered.columns;
  input.f32_stride = gathered.columns;
  multiply(x_.weights_[task->weight].expert(expert.expert), input, block, scratch.y, thread);
  add_bias(task->bias, expert.expert * task->columns, block, scratch.y);
  if (task->second != TENON_NO_SLOT) {
    multiply(x_.weights_[task->second].expert(expert.expert), input, block, scratch.y2, thread);
    add_bias(task->second_bias, expert.expert * task->columns, block, scratch.y2);
    for (uint64_t i = 0; i < block.num_rows; ++i) {
      float* y = block.y + i * block.stride();
      k_.glu(task->glu, y, block.y2 + i * block.stride(), y, block.width);
    }
  }
  finish_experts(phase, *task, expert, block);
  return count;
}

void PhaseRunner::finish_experts(const Phase& phase, const ExpertTask& task,
                                 const ExpertRows& expert, const ColumnBlock& block) noexcept {
  const ExpertPlan& plan = x_.expert_plans_[phase.route];
  if (task.keep != ExpertTask::kNoGathered) {
    const Executable::Activation& kept = x_.gathered_[task.keep];
    const GatheredRows& gathered = x_.plan_.gathered[task.keep];
    if (gathered.formats != 0) {
      k_.quantise(block.y, block.stride(), rows_from(kept.quantised, expert.place, expert.num_rows),
                  0, block.num_rows, block.first, block.width);
    }
    for (uint64_t i = 0; gathered.floats && i < block.num_rows; ++i) {
      std::memcpy(kept.f32 + (expert.place + i) * task.columns + block.first,
                  block.y + i * block.stride(), block.width * sizeof(float));
    }
    return;
  }
  const uint32_t weights = x_.plan_.routes[phase.route].weights;
  for (uint64_t i = 0; i < block.num_rows; ++i) {
    const float* y = block.y + i * block.stride();
    const uint32_t pair = plan.pair(expert.first + static_cast<uint32_t>(i));
    float* to = f32_row(task.store, 0) + pair * task.columns + block.first;
    if (task.weighted) {
      k_.scale(y, f32_row(weights, pair / plan.used())[pair % plan.used()], to, block.width);
    } else {
      std::memcpy(to, y, block.width * sizeof(float));
    }
  }
}

/// The parts of a row, in the order in which their experts were chosen.
void PhaseRunner::sum_experts(const tenon_op& op, uint64_t row) noexcept {
  const uint64_t n = columns(op.outputs[0]);
  const uint64_t used = columns(op.inputs[0]) / n;
  const float* part = f32_row(op.inputs[0], row);
  float* out = f32_row(op.outputs[0], row);
  std::memcpy(out, part, n * sizeof(float));
  for (uint64_t j = 1; j < used; ++j) k_.add(out, part + j * n, out, n);
}

}  // namespace tenon::cpu
