// PhaseRunner: phases of mixtures of experts (choose, gather, multiply).
#include <algorithm>
#include <cstring>

#include "backends/cpu/phases/expert_plan.h"
#include "backends/cpu/phases/phase_runner.h"

namespace tenon::cpu {
namespace {

uint32_t num_blocks(const ExpertTask& task) {
  return static_cast<uint32_t>((task.columns + task.block - 1) / task.block);
}

}  // namespace

uint32_t PhaseRunner::num_expert_items(const Phase& phase) const noexcept {
  const ExpertPlan& plan = run_.expert_plan(phase.route);
  if (phase.kind == PhaseKind::Gather) {
    return one_row_for_all(phase) ? std::min(plan.num_pairs(), 1u) : plan.num_pairs();
  }
  uint32_t items = 0;
  for (const ExpertTask& task : phase.experts) items += plan.num_active() * num_blocks(task);
  return items;
}

/// True for a step of one row, all of whose experts read the same row, gathered once. False if an
/// expert is listed twice and so reads two rows.
bool PhaseRunner::one_row_for_all(const Phase& phase) const noexcept {
  const GatheredRows& rows = run_.plan().gathered[phase.gathered];
  const ExpertPlan& plan = run_.expert_plan(rows.route);
  return rows.by_row && !rows.weighted && run_.num_rows(phase.row_class) == 1 &&
         plan.num_active() == plan.num_pairs();
}

void PhaseRunner::run_gather(const Phase& phase, uint32_t item) noexcept {
  const ExpertPlan& plan = run_.expert_plan(phase.route);
  const GatheredRows& rows = run_.plan().gathered[phase.gathered];
  const Executable::Activation& to = run_.gathered(phase.gathered);
  const ExpertRows& expert = plan.expert_of(item);
  const uint32_t pair = plan.pair(item);
  const uint64_t source_row = rows.by_row ? pair / plan.used() : pair;
  const float* from = run_.f32_row(rows.source, 0) + source_row * rows.columns;
  const uint64_t place = expert.place + (item - expert.first);
  float* gathered = rows.floats ? to.f32 + place * rows.columns : nullptr;
  if (rows.weighted) {
    const uint32_t weights = run_.plan().routes[phase.route].weights;
    run_.k.scale(from, run_.f32_row(weights, pair / plan.used())[pair % plan.used()], gathered,
                 rows.columns);
    from = gathered;
  }
  if (rows.formats != 0) {
    run_.k.quantise(from, rows.columns, rows_from(to.quantised, expert.place, expert.num_rows),
                    item - expert.first, 1, 0, rows.columns);
  }
  if (rows.floats && !rows.weighted) std::memcpy(gathered, from, rows.columns * sizeof(float));
}

uint32_t PhaseRunner::run_experts(const Phase& phase, uint32_t item, uint32_t most,
                                  uint32_t thread) noexcept {
  const ExpertPlan& plan = run_.expert_plan(phase.route);
  const ExpertTask* task = phase.experts.data();
  while (item >= plan.num_active() * num_blocks(*task)) {
    item -= plan.num_active() * num_blocks(*task++);
  }
  const ExpertRows& expert = plan.active(item / num_blocks(*task));
  const uint32_t first_block = item % num_blocks(*task);
  const uint32_t count = std::min({most, num_blocks(*task) - first_block,
                                   static_cast<uint32_t>(joined_width(task->block) / task->block)});
  const Executable::ThreadScratch& scratch = run_.scratch(thread);
  ColumnBlock block{};
  block.first = first_block * task->block;
  block.width = std::min(count * task->block, task->columns - block.first);
  block.num_rows = expert.num_rows;
  block.y = scratch.y;
  block.y2 = scratch.y2;
  const Executable::Activation& rows = run_.gathered(phase.gathered);
  const uint64_t place = one_row_for_all(phase) ? 0 : expert.place;
  LinearInput input{};
  const GatheredRows& gathered = run_.plan().gathered[phase.gathered];
  if (gathered.formats != 0) input.quantised = rows_from(rows.quantised, place, expert.num_rows);
  if (gathered.floats) input.f32 = rows.f32 + place * gathered.columns;
  input.f32_stride = gathered.columns;
  if (task->first_is_zero && expert.expert == 0) {
    for (uint64_t i = 0; i < block.num_rows; ++i) {
      std::fill_n(block.y + i * block.stride(), block.width, 0.0f);
    }
  } else {
    multiply(run_.weight(task->weight).expert(expert.expert), input, block, scratch.y, thread);
  }
  add_bias(task->bias, expert.expert * task->columns, block, scratch.y);
  if (task->second != TENON_NO_SLOT) {
    multiply(run_.weight(task->second).expert(expert.expert), input, block, scratch.y2, thread);
    add_bias(task->second_bias, expert.expert * task->columns, block, scratch.y2);
    for (uint64_t i = 0; i < block.num_rows; ++i) {
      float* y = block.y + i * block.stride();
      run_.k.glu(task->glu, y, block.y2 + i * block.stride(), y, block.width);
    }
  }
  finish_experts(phase, *task, expert, block);
  return count;
}

void PhaseRunner::finish_experts(const Phase& phase, const ExpertTask& task,
                                 const ExpertRows& expert, const ColumnBlock& block) noexcept {
  const ExpertPlan& plan = run_.expert_plan(phase.route);
  if (task.keep != ExpertTask::kNoGathered) {
    const Executable::Activation& kept = run_.gathered(task.keep);
    const GatheredRows& gathered = run_.plan().gathered[task.keep];
    if (gathered.formats != 0) {
      run_.k.quantise(block.y, block.stride(),
                      rows_from(kept.quantised, expert.place, expert.num_rows), 0, block.num_rows,
                      block.first, block.width);
    }
    for (uint64_t i = 0; gathered.floats && i < block.num_rows; ++i) {
      std::memcpy(kept.f32 + (expert.place + i) * task.columns + block.first,
                  block.y + i * block.stride(), block.width * sizeof(float));
    }
    return;
  }
  const uint32_t weights = run_.plan().routes[phase.route].weights;
  for (uint64_t i = 0; i < block.num_rows; ++i) {
    const float* y = block.y + i * block.stride();
    const uint32_t pair = plan.pair(expert.first + static_cast<uint32_t>(i));
    float* to = run_.f32_row(task.store, 0) + pair * task.columns + block.first;
    if (task.weighted) {
      run_.k.scale(y, run_.f32_row(weights, pair / plan.used())[pair % plan.used()], to,
                   block.width);
    } else {
      std::memcpy(to, y, block.width * sizeof(float));
    }
  }
}

}  // namespace tenon::cpu
