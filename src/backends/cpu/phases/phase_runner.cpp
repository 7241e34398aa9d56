#include "backends/cpu/phases/phase_runner.h"

#include <algorithm>
#include <cstring>

#include "abi/cancel_flag.h"
#include "abi/step_rules.h"

namespace tenon::cpu {
namespace {

/// Work items that a thread takes at once, from `item` on. At first a long run of weights per
/// thread, because each start of a run costs some microseconds of memory latency; then shares of
/// the rest, so that all threads finish within an item's time of each other even if a core stalls.
/// Uneven items are shared from the beginning.
uint32_t items_at_once(const Phase& phase, uint32_t item, uint32_t num_items,
                       uint32_t num_threads) {
  const bool uneven = phase.kind == PhaseKind::Operation && phase.entry->phase.uneven;
  if (uneven) return std::max(1u, (num_items - item) / (2 * num_threads));
  const uint32_t run = num_items / num_threads * 7 / 8;
  return item < run * num_threads ? run : std::max(1u, (num_items - item) / num_threads);
}

uint32_t blocks_of_head(const LinearTask& task) {
  return static_cast<uint32_t>((task.head_columns() + task.block - 1) / task.block);
}

uint32_t num_blocks(const LinearTask& task) { return task.heads * blocks_of_head(task); }

}  // namespace

bool OpRun::cancelled() noexcept {
  if (is_set(x_.state_.step->cancel)) cancelled_.store(true, std::memory_order_relaxed);
  return cancelled_.load(std::memory_order_relaxed);
}

uint32_t PhaseRunner::num_items(const Phase& phase) const noexcept {
  const auto rows = static_cast<uint32_t>(run_.num_rows(phase.row_class));
  if (rows == 0) return 0;
  uint32_t items = 0;
  switch (phase.kind) {
    case PhaseKind::Rows:
      // Rows of a group are interleaved (QuantRows): two threads would share cache lines.
      items = (rows + kRowInterleave - 1) / kRowInterleave;
      break;
    case PhaseKind::Linear:
      for (const LinearTask& task : phase.tasks) items += num_blocks(task);
      break;
    case PhaseKind::Operation:
      items = phase.entry->phase.items(run_, phase);
      break;
    case PhaseKind::Gather:
    case PhaseKind::Experts:
      items = num_expert_items(phase);
      break;
  }
  return items;
}

bool PhaseRunner::is_for_one(uint32_t phase_index) const noexcept {
  const Phase& phase = run_.plan().phases[phase_index];
  switch (phase.kind) {
    case PhaseKind::Rows:
      return num_items(phase) <= 1;
    case PhaseKind::Linear:
      return num_items(phase) == 0;
    case PhaseKind::Operation:
      return phase.entry->phase.small && num_items(phase) <= 1;
    case PhaseKind::Gather:
    case PhaseKind::Experts:
      break;
  }
  return false;
}

void PhaseRunner::run(uint32_t phase_index, uint32_t thread, uint32_t num_threads) noexcept {
  const Phase& phase = run_.plan().phases[phase_index];
  const uint32_t items = num_items(phase);
  std::atomic<uint32_t>& next = x_.next_item_[phase_index];
  uint32_t item = next.load(std::memory_order_relaxed);
  // A phase of a long prompt takes tenths of a second: polls the cancel flag within it.
  while (item < items) {
    const uint32_t end = item + items_at_once(phase, item, items, num_threads);
    if (!next.compare_exchange_weak(item, end, std::memory_order_relaxed)) continue;
    while (item < end) {
      if (run_.cancelled()) return;
      switch (phase.kind) {
        case PhaseKind::Rows:
          run_row_group(phase, item++);
          break;
        case PhaseKind::Linear:
          item += run_linear(phase, item, end - item, thread);
          break;
        case PhaseKind::Operation:
          phase.entry->phase.run(run_, phase, item++, thread);
          break;
        case PhaseKind::Gather:
          run_gather(phase, item++);
          break;
        case PhaseKind::Experts:
          item += run_experts(phase, item, end - item, thread);
          break;
      }
    }
    item = next.load(std::memory_order_relaxed);
  }
}

// ---- Row phases

void PhaseRunner::quantise_row(uint32_t slot, uint64_t row) noexcept {
  run_.k.quantise(run_.f32_row(slot, row), run_.columns(slot), run_.activation(slot).quantised, row,
                  1, 0, run_.columns(slot));
}

void PhaseRunner::run_row_group(const Phase& phase, uint64_t group) noexcept {
  const uint64_t end = std::min((group + 1) * kRowInterleave, run_.num_rows(phase.row_class));
  for (uint64_t row = group * kRowInterleave; row < end; ++row) run_row(phase, row);
}

void PhaseRunner::run_row(const Phase& phase, uint64_t row) noexcept {
  for (const RowOp& step : phase.rows) {
    if (step.kind == RowKind::Quantise) {
      quantise_row(step.slot, row);
    } else {
      step.entry->row(run_, step, row);
    }
  }
}

// ---- Linear phases

/// y = columns of x W^T for all rows of the input.
void PhaseRunner::multiply(const PackedWeight& w, const LinearInput& input,
                           const ColumnBlock& block, float* y, uint32_t thread) noexcept {
  LinearArgs args{};
  args.weights = w.data;
  args.panel_bytes = panel_bytes(*w.layout, w.depth);
  args.first_panel = block.first / w.layout->panel_rows;
  args.num_panels = (block.width + w.layout->panel_rows - 1) / w.layout->panel_rows;
  args.weight_rows = w.rows;
  args.depth = w.depth;
  args.y_stride = block.stride();
  args.tile = run_.scratch(thread).tile;
  args.chunk = run_.scratch(thread).chunk;
  args.decode_row = w.format->decode_row;
  args.row_bytes = w.depth / w.format->block_values * w.format->block_bytes;
  args.block_values = w.format->block_values;
  args.block_bytes = w.format->block_bytes;
  args.num_rows = block.num_rows;
  args.quantised = input.quantised;
  // Other weights may have quantised the rows to fixed point; this one must not read that form.
  if (!is_fixed_point(*w.layout, run_.k)) args.quantised.fixed = nullptr;
  args.x = input.f32;
  args.x_stride = input.f32_stride;
  args.y = y;
  run_.k.linear[static_cast<uint32_t>(w.layout->kind)](args);
}

void PhaseRunner::add_bias(uint32_t bias, uint64_t first, const ColumnBlock& block,
                           float* y) noexcept {
  if (bias == TENON_NO_SLOT) return;
  for (uint64_t t = 0; t < block.num_rows; ++t) {
    float* row = y + t * block.stride();
    run_.k.add(row, run_.vector(bias) + first + block.first, row, block.width);
  }
}

/// Applies an operation of a task's chain in place on the block.
void PhaseRunner::apply(const RowOp& row, const ColumnBlock& block) noexcept {
  for (uint64_t t = 0; t < block.num_rows; ++t) row.entry->columns.apply(run_, row, block, t);
}

void PhaseRunner::finish(const LinearTask& task, const ColumnBlock& block) noexcept {
  for (uint64_t t = 0; task.store != TENON_NO_SLOT && t < block.num_rows; ++t) {
    std::memcpy(run_.f32_row(task.store, t) + block.first, block.y + t * block.stride(),
                block.width * sizeof(float));
  }
  if (task.quantise != TENON_NO_SLOT) {
    run_.k.quantise(block.y, block.stride(), run_.activation(task.quantise).quantised, 0,
                    block.num_rows, block.first, block.width);
  }
}

uint32_t PhaseRunner::run_linear(const Phase& phase, uint32_t item, uint32_t most,
                                 uint32_t thread) noexcept {
  const LinearTask* task = phase.tasks.data();
  while (item >= num_blocks(*task)) item -= num_blocks(*task++);
  const Executable::ThreadScratch& scratch = run_.scratch(thread);
  const uint64_t rows = run_.num_rows(phase.row_class);
  const uint64_t joined = max_width(*task, grouped_rows(rows), run_.max_rows()) / task->block;
  const uint32_t head = item / blocks_of_head(*task);
  const uint32_t first = item % blocks_of_head(*task);
  const auto count =
      static_cast<uint32_t>(std::min<uint64_t>({most, blocks_of_head(*task) - first, joined}));
  ColumnBlock block{};
  block.first = first * task->block;
  block.width = std::min(count * task->block, task->head_columns() - block.first);
  block.num_rows = rows;
  block.y = scratch.y;
  block.y2 = scratch.y2;
  const Executable::Weight& weight = run_.weight(task->weight);
  LinearInput input{run_.activation(phase.input).quantised, run_.f32_row(phase.input, 0),
                    run_.columns(phase.input)};
  if (head > 0) {
    input.quantised = columns_from(input.quantised, head * weight.matrix.depth);
    if (input.f32 != nullptr) input.f32 += head * weight.matrix.depth;
  }
  multiply(weight.expert(head), input, block, scratch.y, thread);
  block.first += head * task->head_columns();
  add_bias(task->bias, 0, block, scratch.y);
  if (task->second != TENON_NO_SLOT) {
    multiply(run_.weight(task->second).matrix, input, block, scratch.y2, thread);
    add_bias(task->second_bias, 0, block, scratch.y2);
  }
  for (const RowOp& row : task->chain) apply(row, block);
  finish(*task, block);
  return count;
}

}  // namespace tenon::cpu
