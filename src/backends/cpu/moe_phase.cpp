// The phases of mixtures of experts of a PhaseRunner: choosing, gathering, multiplying.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/expert_plan.h"
#include "backends/cpu/phase_runner.h"

namespace tenon::cpu {
namespace {

uint32_t num_blocks(const ExpertTask& task) {
  return static_cast<uint32_t>((task.columns + task.block - 1) / task.block);
}

/// The `used` largest of logits [experts], the largest first, of equal ones the first one first:
/// numbers to ids [used], logits to chosen [used]. What is no number is smaller than all others.
void choose_largest(const float* logits, uint32_t experts, uint32_t used, int32_t* ids,
                    float* chosen) noexcept {
  uint32_t count = 0;
  for (uint32_t e = 0; e < experts; ++e) {
    const float logit = std::isnan(logits[e]) ? -INFINITY : logits[e];
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

/// One row of a moe_route: logits [experts] -> ids [used], weights [used].
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

/// A step of one row: all its experts read the same, gathered once.
bool PhaseRunner::one_row_for_all(const Phase& phase) const noexcept {
  return x_.plan_.gathered[phase.gathered].by_row && num_rows(phase.row_class) == 1;
}

void PhaseRunner::run_route(const Phase& phase, uint64_t row) noexcept {
  const tenon_op& op = phase.rows[0].op;
  choose_experts(op.params.moe_route, f32_row(op.inputs[0], row),
                 x_.plan_.routes[phase.route].experts, i32_row(op.outputs[0], row),
                 f32_row(op.outputs[1], row));
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
  if (rows.forms != 0) {
    k_.quantise(from, rows.columns, rows_from(to.quantised, expert.place, expert.num_rows),
                item - expert.first, 1, 0, rows.columns);
  }
  if (rows.floats) {
    const uint64_t place = expert.place + (item - expert.first);
    std::memcpy(to.f32 + place * rows.columns, from, rows.columns * sizeof(float));
  }
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
  const GatheredRows& form = x_.plan_.gathered[phase.gathered];
  if (form.forms != 0) input.quantised = rows_from(rows.quantised, place, expert.num_rows);
  if (form.floats) input.f32 = rows.f32 + place * form.columns;
  multiply(x_.weights_[task->weight].expert(expert.expert), input, block, scratch.y, thread);
  if (task->second != TENON_NO_SLOT) {
    multiply(x_.weights_[task->second].expert(expert.expert), input, block, scratch.y2, thread);
    for (uint64_t i = 0; i < block.num_rows; ++i) {
      float* y = block.y + i * block.stride();
      k_.glu(task->activation, y, block.y2 + i * block.stride(), y, block.width);
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
    const GatheredRows& form = x_.plan_.gathered[task.keep];
    if (form.forms != 0) {
      k_.quantise(block.y, block.stride(), rows_from(kept.quantised, expert.place, expert.num_rows),
                  0, block.num_rows, block.first, block.width);
    }
    for (uint64_t i = 0; form.floats && i < block.num_rows; ++i) {
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
void PhaseRunner::sum_parts(const tenon_op& op, uint64_t row) noexcept {
  const uint64_t n = columns(op.outputs[0]);
  const uint64_t used = columns(op.inputs[0]) / n;
  const float* part = f32_row(op.inputs[0], row);
  float* out = f32_row(op.outputs[0], row);
  std::memcpy(out, part, n * sizeof(float));
  for (uint64_t j = 1; j < used; ++j) k_.add(out, part + j * n, out, n);
}

}  // namespace tenon::cpu
