#include "backends/cpu/phases/phase_builder.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tenon::cpu {
namespace {

/// Widest column block for which fusion pays.
constexpr uint64_t kMaxBlock = 512;

bool is_linear(const RowOp& row) { return row.entry != nullptr && row.op.kind == TENON_OP_LINEAR; }

/// True if the operation runs in a linear phase.
bool is_product(const RowOp& row) {
  return row.kind == RowKind::Op && row.entry != nullptr &&
         row.entry->placement == Placement::Linear;
}

/// A plain route is one too: experts read its rows sorted.
Placement placement_of(const RowOp& row) {
  if (row.entry != nullptr) return row.entry->placement;
  return row.op.kind == TENON_OP_MOE_ROUTE ? Placement::Route : Placement::Own;
}

/// True if a head's columns are whole blocks.
bool fits_heads(const LinearTask& task, uint64_t block) {
  return task.heads == 1 || task.head_columns() % block == 0;
}

}  // namespace

PhaseBuilder::PhaseBuilder(const backends::ProgramCopy& program, const Kernels& kernels,
                           const OperationTable& operations)
    : groups_(program.groups()), kernels_(kernels) {
  for (const tenon_slot& slot : program.slots()) {
    SlotInfo made;
    made.slot = slot;
    made.bound = made.stored = slot.kind == TENON_SLOT_INPUT;
    plan_.slots.push_back(made);
  }
  for (const uint32_t result : program.results()) {
    info(result).bound = info(result).stored = true;
  }
  for (const tenon_op& op : program.ops()) {
    Item item;
    item.row.op = op;
    item.row.entry = operations.entry_of(program.view(), op);
    const bool plain = item.row.entry == nullptr;
    if (!plain && op.kind == TENON_OP_MOE_LINEAR && op.params.moe_linear.sum == 1) {
      add_expert_sum(item.row);
      continue;
    }
    if (plain || op.kind != TENON_OP_KV_WRITE) {
      items_.push_back(item);
      continue;
    }
    item.row.kind = RowKind::WriteKeys;
    item.row.slot = item.row.op.inputs[0];
    items_.push_back(item);
    if (item.row.op.inputs[1] == TENON_NO_SLOT) continue;  // a latent row
    item.row.kind = RowKind::WriteValues;
    item.row.slot = item.row.op.inputs[1];
    items_.push_back(item);
  }
}

std::vector<uint32_t> PhaseBuilder::reads(const Item& item) const {
  if (item.row.kind != RowKind::Op) return {item.row.slot};
  const tenon_op& op = item.row.op;
  return {op.inputs, op.inputs + op.num_inputs};
}

/// Items that read a slot, one per read.
std::vector<size_t> PhaseBuilder::consumers(uint32_t slot) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < items_.size(); ++i) {
    for (const uint32_t input : reads(items_[i])) {
      if (input == slot) found.push_back(i);
    }
  }
  return found;
}

/// Format in which a linear with this weight reads its input; 0 means f32.
ActivationFormat PhaseBuilder::format_read_by(uint32_t weight) const {
  const tenon_slot& slot = plan_.slots[weight].slot;
  return activation_format(static_cast<Format>(slot.type), slot.columns, kernels_);
}

/// Format in which an operation reads its input; only linears read another format than f32.
ActivationFormat PhaseBuilder::format_read_by(const Item& item) const {
  return is_product(item.row) ? format_read_by(item.row.op.inputs[1]) : 0;
}

/// All quantised formats in which a slot is read.
ActivationFormat PhaseBuilder::formats_read(uint32_t slot) const {
  ActivationFormat formats = 0;
  for (const size_t i : consumers(slot)) formats |= format_read_by(items_[i]);
  return formats;
}

/// True for weights and constants, and for activations stored by a phase before `phase`.
bool PhaseBuilder::ready_before(uint32_t slot, int32_t phase) const {
  const SlotInfo& s = plan_.slots[slot];
  if (s.slot.kind != TENON_SLOT_ACTIVATION) return true;  // inputs exist from the start
  return s.stored && s.first_phase >= 0 && s.first_phase < phase;
}

/// Linear phase that this operation joins, or a new one.
Phase& PhaseBuilder::phase_for_linear(const tenon_op& op) {
  const uint32_t row_class = plan_.slots[op.outputs[0]].slot.row_class;
  if (!plan_.phases.empty()) {
    Phase& last = plan_.phases.back();
    if (last.kind == PhaseKind::Linear && last.input == op.inputs[0]) return last;
  }
  Phase phase;
  phase.kind = PhaseKind::Linear;
  phase.row_class = row_class;
  phase.input = op.inputs[0];
  plan_.phases.push_back(std::move(phase));
  return plan_.phases.back();
}

/// Fuses gate and up into one task if the other operand of the GLU is a linear of the same input.
bool PhaseBuilder::fuse_glu(LinearTask& task, uint32_t& result, size_t consumer, int32_t phase) {
  const tenon_op& glu = items_[consumer].row.op;
  const uint32_t gate = glu.inputs[0];
  const uint32_t up = glu.inputs[1];
  if (gate != result || up == gate || !task.chain.empty() || consumers(up).size() != 1 ||
      info(up).bound) {
    return false;
  }
  for (Item& item : items_) {
    const tenon_op& op = item.row.op;
    if (item.done || item.row.kind != RowKind::Op || !is_linear(item.row) || op.outputs[0] != up)
      continue;
    if (op.inputs[0] != plan_.phases[static_cast<size_t>(phase)].input) return false;
    if (format_read_by(op.inputs[1]) != format_read_by(task.weight)) return false;
    task.second = op.inputs[1];
    task.second_bias = op.inputs[2];
    item.done = true;
    task.chain.push_back(items_[consumer].row);
    items_[consumer].done = true;
    result = glu.outputs[0];
    return true;
  }
  return false;
}

/// Moves the only reader of `result` into the task if it works column by column on ready operands.
bool PhaseBuilder::fuse_one(LinearTask& task, uint32_t& result, int32_t phase) {
  const std::vector<size_t> readers = consumers(result);
  if (info(result).bound || readers.size() != 1) return false;
  Item& item = items_[readers[0]];
  const RowOp& row = item.row;
  if (item.done) return false;
  if (row.entry == nullptr || row.entry->columns.apply == nullptr) return false;
  const ColumnForm& form = row.entry->columns;
  if (row.op.kind == TENON_OP_GLU) {
    return task.heads == 1 && fuse_glu(task, result, readers[0], phase);
  }
  if (form.fits != nullptr && !form.fits(plan_, row, result)) return false;
  const uint64_t together = form.together == nullptr ? 1 : form.together(row, groups_);
  const uint64_t block = std::lcm(task.block, together);
  if (block > kMaxBlock || !fits_heads(task, block)) return false;
  if (row.op.kind != TENON_OP_KV_WRITE) {
    for (const uint32_t input : reads(item)) {
      if (input != result && input != TENON_NO_SLOT && !ready_before(input, phase)) return false;
    }
    result = row.op.outputs[0];
  } else {
    result = TENON_NO_SLOT;
  }
  task.block = block;
  task.chain.push_back(row);
  item.done = true;
  return true;
}

/// Stores a task's result as f32, quantised, or both.
void PhaseBuilder::finish_task(LinearTask& task, uint32_t result, int32_t phase) {
  if (result == TENON_NO_SLOT) return;
  bool wants_f32 = info(result).bound;
  for (const size_t i : consumers(result)) wants_f32 = wants_f32 || format_read_by(items_[i]) == 0;
  const ActivationFormat formats = formats_read(result);
  const uint64_t block = std::lcm<uint64_t>(task.block, kActivationBlock);
  if (formats != 0 && block <= kMaxBlock && fits_heads(task, block)) {
    task.block = block;
    task.quantise = result;
    info(result).formats = formats;
  } else if (formats != 0) {
    wants_f32 = true;  // quantised by a row phase
  }
  info(result).first_phase = phase;
  if (wants_f32) {
    task.store = result;
    info(result).stored = true;
  }
}

/// Makes the quantised formats of an activation exist before the next phase.
void PhaseBuilder::need_quantised(uint32_t slot) {
  SlotInfo& s = info(slot);
  if (s.formats != 0) return;
  s.formats = formats_read(slot);
  RowOp row;
  row.kind = RowKind::Quantise;
  row.slot = slot;
  Phase* last = plan_.phases.empty() ? nullptr : &plan_.phases.back();
  const bool same_rows = last != nullptr && last->row_class == s.slot.row_class;
  if (same_rows && last->kind == PhaseKind::Rows) {
    last->rows.push_back(row);
    return;
  }
  const auto quantises = [&](const Phase& made) {
    return made.kind == PhaseKind::Operation && made.op.outputs[0] == slot &&
           made.entry != nullptr && made.entry->phase.quantises != nullptr &&
           made.entry->phase.quantises(made.op, groups_) % kActivationBlock == 0;
  };
  if (same_rows && quantises(*last)) {
    last->quantise_result = true;
    return;
  }
  Phase phase;
  phase.row_class = s.slot.row_class;
  phase.rows.push_back(row);
  plan_.phases.push_back(std::move(phase));
}

void PhaseBuilder::place_linear(size_t index) {
  const tenon_op op = items_[index].row.op;
  if (format_read_by(op.inputs[1]) != 0) need_quantised(op.inputs[0]);
  Phase& phase = phase_for_linear(op);
  const int32_t number = last_phase();
  const PanelFormat& layout =
      panel_format(static_cast<Format>(info(op.inputs[1]).slot.type), kernels_);
  LinearTask task;
  task.weight = op.inputs[1];
  task.bias = op.inputs[2];
  task.columns = columns(op.outputs[0]);
  task.heads = num_matrices(items_[index].row.entry, op, 1);
  task.block = std::lcm<uint64_t>(layout.panel_rows, kActivationBlock);
  uint32_t result = op.outputs[0];
  while (result != TENON_NO_SLOT && fuse_one(task, result, number)) {
  }
  finish_task(task, result, number);
  phase.tasks.push_back(std::move(task));
  info(op.inputs[0]).last_phase = number;
}

/// Adds a phase of one operation, which stores its results.
void PhaseBuilder::place_operation(size_t index) {
  Phase phase;
  phase.kind = PhaseKind::Operation;
  phase.op = items_[index].row.op;
  phase.entry = items_[index].row.entry;
  const uint32_t* outputs = phase.op.outputs;
  if (phase.op.num_outputs > 0) phase.row_class = info(outputs[0]).slot.row_class;
  if (phase.entry != nullptr && phase.entry->phase.prepare != nullptr) {
    phase.entry->phase.prepare(plan_, phase);
  }
  for (uint32_t o = 0; o < phase.op.num_outputs; ++o) {
    info(outputs[o]).first_phase = last_phase() + 1;
    info(outputs[o]).stored = true;
  }
  plan_.phases.push_back(std::move(phase));
}

void PhaseBuilder::place_rows(size_t index) {
  const RowOp& row = items_[index].row;
  const uint32_t slot = row.kind == RowKind::Op ? row.op.outputs[0] : row.slot;
  const uint32_t row_class = info(slot).slot.row_class;
  const bool joins = !plan_.phases.empty() && plan_.phases.back().kind == PhaseKind::Rows &&
                     plan_.phases.back().row_class == row_class;
  if (!joins) {
    Phase phase;
    phase.row_class = row_class;
    plan_.phases.push_back(std::move(phase));
  }
  plan_.phases.back().rows.push_back(row);
  if (row.kind == RowKind::Op) {
    info(slot).first_phase = last_phase();
    info(slot).stored = true;
  }
}

/// Finds the last phase that reads each slot, as f32 or quantised.
void PhaseBuilder::find_lifetimes() {
  for (int32_t p = 0; p <= last_phase(); ++p) {
    const Phase& phase = plan_.phases[static_cast<size_t>(p)];
    const auto touch_quantised = [&](uint32_t slot) {
      if (slot != TENON_NO_SLOT) info(slot).last_phase = std::max(info(slot).last_phase, p);
    };
    const auto touch = [&](uint32_t slot) {
      touch_quantised(slot);
      if (slot != TENON_NO_SLOT) info(slot).last_f32_phase = std::max(info(slot).last_f32_phase, p);
    };
    const auto touch_row = [&](const RowOp& row) {
      touch(row.slot);
      if (row.kind == RowKind::Quantise) return;
      for (uint32_t i = 0; i < row.op.num_inputs; ++i) touch(row.op.inputs[i]);
      for (uint32_t o = 0; o < row.op.num_outputs; ++o) touch(row.op.outputs[o]);
    };
    touch_quantised(phase.input);
    for (const LinearTask& task : phase.tasks) {
      if (format_read_by(task.weight) == 0) touch(phase.input);
    }
    if (phase.kind == PhaseKind::Operation) touch_row({.op = phase.op});
    for (const RowOp& row : phase.rows) touch_row(row);
    if (phase.kind == PhaseKind::Experts) {
      touch(plan_.routes[phase.route].ids);
      touch(plan_.routes[phase.route].weights);
    }
    if (phase.kind == PhaseKind::Gather) {
      touch(plan_.routes[phase.route].ids);
      touch(plan_.gathered[phase.gathered].source);
      if (plan_.gathered[phase.gathered].weighted) touch(plan_.routes[phase.route].weights);
    }
    for (const ExpertTask& task : phase.experts) touch(task.store);
    for (const LinearTask& task : phase.tasks) {
      touch(task.store);
      touch_quantised(task.quantise);
      for (const RowOp& row : task.chain) touch_row(row);
    }
  }
}

/// Shares memory between a residual and the next one, if the linear that writes the next is the
/// last reader.
void PhaseBuilder::find_results_in_place() {
  for (int32_t p = 0; p <= last_phase(); ++p) {
    const Phase& phase = plan_.phases[static_cast<size_t>(p)];
    // Another task might read columns already overwritten.
    if (phase.kind != PhaseKind::Linear || phase.tasks.size() != 1) continue;
    const LinearTask& task = phase.tasks[0];
    if (task.store == TENON_NO_SLOT || info(task.store).bound) continue;
    for (const RowOp& row : task.chain) {
      if (row.kind != RowKind::Op || row.op.kind != TENON_OP_ADD) continue;
      const uint32_t other = plan_.other_operand(row.op);
      const SlotInfo& from = info(other);
      const tenon_slot& to = info(task.store).slot;
      if (from.slot.kind != TENON_SLOT_ACTIVATION || !from.stored || other == phase.input ||
          from.bound || from.first_phase >= p || from.last_phase != p ||
          from.slot.row_class != to.row_class || from.slot.columns != to.columns) {
        continue;
      }
      info(task.store).in_place_of = other;
      break;
    }
  }
}

PhasePlan PhaseBuilder::build() && {
  for (size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].done) continue;
    items_[i].done = true;
    switch (placement_of(items_[i].row)) {
      case Placement::Rows:
        place_rows(i);
        break;
      case Placement::Linear:
        place_linear(i);
        break;
      case Placement::Route:
        place_route(i);
        break;
      case Placement::Experts:
        place_experts(i);
        break;
      case Placement::Own:
        place_operation(i);
        break;
    }
  }
  find_lifetimes();
  find_results_in_place();
  return std::move(plan_);
}

PhasePlan build_phases(const backends::ProgramCopy& program, const Kernels& kernels,
                       const OperationTable& operations) {
  return PhaseBuilder(program, kernels, operations).build();
}

}  // namespace tenon::cpu
