#include "backends/cpu/phases/phase_builder.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>

#include "backends/common/recurrence.h"
#include "backends/common/relative_bucket.h"

namespace tenon::cpu {
namespace {

/// Wider column blocks than this are not worth a fused operation.
constexpr uint64_t kMaxBlock = 512;

bool is_linear(const tenon_op& op) { return op.kind == TENON_OP_LINEAR; }

/// AttentionBias::buckets, of a table of `rows`.
std::vector<uint16_t> buckets_of(const tenon_attention_params& params, uint32_t rows) {
  const int64_t reach = params.max_distance;
  std::vector<uint16_t> buckets;
  buckets.reserve(static_cast<size_t>(2 * reach + 1));
  for (int64_t distance = -reach; distance <= reach; ++distance) {
    buckets.push_back(static_cast<uint16_t>(backends::relative_bucket(distance, rows, params)));
  }
  return buckets;
}

/// Whether it is placed in a linear phase.
bool is_product(const tenon_op& op) { return is_linear(op) || op.kind == TENON_OP_LINEAR_HEADS; }

/// Whether the columns of a head are whole blocks.
bool fits_heads(const LinearTask& task, uint64_t block) {
  return task.heads == 1 || task.head_columns() % block == 0;
}

}  // namespace

uint32_t num_matrices(const tenon_op& op, uint32_t input) noexcept {
  switch (op.kind) {
    case TENON_OP_EMBED:
    case TENON_OP_NGRAM_ROWS:
      return input == 0 ? 1 : 0;
    case TENON_OP_LINEAR:
      return input == 1 ? 1 : 0;
    case TENON_OP_MOE_LINEAR:
      return input == 2 ? op.params.moe_linear.experts : 0;
    case TENON_OP_LINEAR_HEADS:
      return input == 1 ? op.params.linear_heads.heads : 0;
    default:
      return 0;
  }
}

PhaseBuilder::PhaseBuilder(const backends::ProgramCopy& program, const Kernels& kernels)
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
    if (item.row.op.kind == TENON_OP_MOE_LINEAR && item.row.op.params.moe_linear.sum == 1) {
      add_expert_sum(item.row.op);
      continue;
    }
    if (item.row.op.kind != TENON_OP_KV_WRITE) {
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

/// Indices of the items that read a slot, an item once for each time it does.
std::vector<size_t> PhaseBuilder::consumers(uint32_t slot) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < items_.size(); ++i) {
    for (const uint32_t input : reads(items_[i])) {
      if (input == slot) found.push_back(i);
    }
  }
  return found;
}

/// The format of its input that a linear with this weight reads, 0 for f32.
ActivationFormat PhaseBuilder::format_read_by(uint32_t weight) const {
  const tenon_slot& slot = plan_.slots[weight].slot;
  return activation_format(static_cast<Format>(slot.type), slot.columns, kernels_);
}

/// The same of an operation; other ones than linears read f32.
ActivationFormat PhaseBuilder::format_read_by(const Item& item) const {
  const bool product = item.row.kind == RowKind::Op && is_product(item.row.op);
  return product ? format_read_by(item.row.op.inputs[1]) : 0;
}

/// All quantised formats in which a slot is read.
ActivationFormat PhaseBuilder::formats_read(uint32_t slot) const {
  ActivationFormat formats = 0;
  for (const size_t i : consumers(slot)) formats |= format_read_by(items_[i]);
  return formats;
}

/// Weights and constants always are; activations if a phase before `phase` stored them.
bool PhaseBuilder::ready_before(uint32_t slot, int32_t phase) const {
  const SlotInfo& s = plan_.slots[slot];
  if (s.slot.kind != TENON_SLOT_ACTIVATION) return true;  // inputs are there from the start
  return s.stored && s.first_phase >= 0 && s.first_phase < phase;
}

/// Columns that belong together in a column-wise operation.
uint64_t PhaseBuilder::granularity(const RowOp& row) const {
  switch (row.op.kind) {
    case TENON_OP_RMS_NORM:
    case TENON_OP_LAYER_NORM:
    case TENON_OP_L2_NORM:
      return row.op.params.norm.segment;
    case TENON_OP_ROPE:
      return row.op.params.rope.head_dim;
    case TENON_OP_KV_WRITE: {
      const tenon_cache_group& group = groups_[row.op.params.kv.group];
      return row.kind == RowKind::WriteKeys ? group.key_dim : group.value_dim;
    }
    default:
      return 1;
  }
}

/// The linear phase this operation joins, or a new one.
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

/// gate and up as one task, if the other operand of the GLU is a linear of the same input.
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
    if (item.done || item.row.kind != RowKind::Op || !is_linear(op) || op.outputs[0] != up)
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

/// Whether an operation on the result of a linear works column by column.
bool PhaseBuilder::follows_columns(const RowOp& row, uint32_t result) const {
  switch (row.op.kind) {
    case TENON_OP_RMS_NORM:
    case TENON_OP_LAYER_NORM:
    case TENON_OP_ROPE:
    case TENON_OP_KV_WRITE:
    case TENON_OP_ADD:
    case TENON_OP_SCALE:
    case TENON_OP_SOFT_CAP:
    case TENON_OP_ACTIVATE:
    case TENON_OP_L2_NORM:
      return true;
    case TENON_OP_SIGMOID_GATE:
      return row.op.inputs[0] == result && columns(row.op.inputs[1]) == 1;
    default:
      return false;
  }
}

/// Moves the one reader of `result` into the task, if it works column by column on what is ready.
bool PhaseBuilder::fuse_one(LinearTask& task, uint32_t& result, int32_t phase) {
  const std::vector<size_t> readers = consumers(result);
  if (info(result).bound || readers.size() != 1) return false;
  Item& item = items_[readers[0]];
  const RowOp& row = item.row;
  if (item.done) return false;
  if (row.kind == RowKind::Op && row.op.kind == TENON_OP_GLU) {
    return task.heads == 1 && fuse_glu(task, result, readers[0], phase);
  }
  if (!follows_columns(row, result)) return false;
  const uint64_t block = std::lcm(task.block, granularity(row));
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

/// Where the result of a task goes: f32 memory, quantised, or both.
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
    wants_f32 = true;  // a row phase quantises it
  }
  info(result).first_phase = phase;
  if (wants_f32) {
    task.store = result;
    info(result).stored = true;
  }
}

/// Makes sure that the quantised formats of an activation exist before the next phase.
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
  if (same_rows && last->kind == PhaseKind::Attention && last->attention.outputs[0] == slot) {
    const tenon_cache_group& group = groups_[last->attention.params.attention.group];
    const uint32_t heads_together =
        last->attention.params.attention.heads / group.kv_heads * group.value_dim;
    if (heads_together % kActivationBlock == 0) {
      last->quantise_attention = true;
      return;
    }
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
  const PanelFormat& layout = panel_format(static_cast<Format>(info(op.inputs[1]).slot.type));
  LinearTask task;
  task.weight = op.inputs[1];
  task.bias = op.inputs[2];
  task.columns = columns(op.outputs[0]);
  task.heads = num_matrices(op, 1);
  task.block = std::lcm<uint64_t>(layout.panel_rows, kActivationBlock);
  uint32_t result = op.outputs[0];
  while (result != TENON_NO_SLOT && fuse_one(task, result, number)) {
  }
  finish_task(task, result, number);
  phase.tasks.push_back(std::move(task));
  info(op.inputs[0]).last_phase = number;
}

/// A phase of one operation, whose result is stored.
void PhaseBuilder::place_phase(Phase phase, uint32_t output) {
  plan_.phases.push_back(std::move(phase));
  info(output).first_phase = last_phase();
  info(output).stored = true;
}

void PhaseBuilder::place_attention(size_t index) {
  Phase phase;
  phase.kind = PhaseKind::Attention;
  phase.attention = items_[index].row.op;
  if (phase.attention.params.attention.bias == TENON_BIAS_RELATIVE) {
    const auto rows = static_cast<uint32_t>(info(phase.attention.inputs[2]).slot.rows);
    phase.buckets = buckets_of(phase.attention.params.attention, rows);
  }
  const uint32_t output = phase.attention.outputs[0];
  place_phase(std::move(phase), output);
}

void PhaseBuilder::place_attention_pools(size_t index) {
  Phase phase;
  phase.kind = PhaseKind::AttentionPools;
  phase.attention = items_[index].row.op;
  const uint32_t output = phase.attention.outputs[0];
  place_phase(std::move(phase), output);
}

void PhaseBuilder::place_select(size_t index) {
  Phase phase;
  phase.kind = PhaseKind::Select;
  phase.select = items_[index].row.op;
  const uint32_t output = phase.select.outputs[0];
  place_phase(std::move(phase), output);
}

void PhaseBuilder::place_compress(size_t index) {
  Phase phase;
  phase.kind = PhaseKind::Compress;
  phase.compress = items_[index].row.op;
  const uint32_t output = phase.compress.outputs[0];
  place_phase(std::move(phase), output);
}

void PhaseBuilder::place_recurrent(size_t index) {
  Phase phase;
  phase.kind = PhaseKind::Recurrent;
  phase.recurrent = items_[index].row.op;
  const uint32_t output = phase.recurrent.outputs[0];
  place_phase(std::move(phase), output);
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

/// A slot is read last in the last phase that names it, as f32 or quantised.
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
    if (phase.kind == PhaseKind::Attention) touch(phase.attention.inputs[0]);
    if (phase.kind == PhaseKind::Attention) touch(phase.attention.inputs[3]);
    if (phase.kind == PhaseKind::Attention) touch(phase.attention.outputs[0]);
    if (phase.kind == PhaseKind::AttentionPools) touch_row({.op = phase.attention});
    if (phase.kind == PhaseKind::Select) touch_row({.op = phase.select});
    if (phase.kind == PhaseKind::Compress) touch_row({.op = phase.compress});
    if (phase.kind == PhaseKind::Recurrent) touch_row({.op = phase.recurrent});
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

/// A residual that is read for the last time by the linear that writes the next one becomes that.
void PhaseBuilder::find_results_in_place() {
  for (int32_t p = 0; p <= last_phase(); ++p) {
    const Phase& phase = plan_.phases[static_cast<size_t>(p)];
    // Another task might read columns that this one has written.
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
    const RowOp& row = items_[i].row;
    if (row.kind == RowKind::Op && is_product(row.op)) {
      place_linear(i);
    } else if (row.kind == RowKind::Op && row.op.kind == TENON_OP_ATTENTION) {
      place_attention(i);
    } else if (row.kind == RowKind::Op && row.op.kind == TENON_OP_ATTENTION_POOLS) {
      place_attention_pools(i);
    } else if (row.kind == RowKind::Op && is_select(row.op.kind)) {
      place_select(i);
    } else if (row.kind == RowKind::Op && row.op.kind == TENON_OP_COMPRESS) {
      place_compress(i);
    } else if (row.kind == RowKind::Op && backends::is_recurrent(row.op.kind)) {
      place_recurrent(i);
    } else if (row.kind == RowKind::Op && row.op.kind == TENON_OP_MOE_ROUTE) {
      place_route(i);
    } else if (row.kind == RowKind::Op && row.op.kind == TENON_OP_MOE_LINEAR) {
      place_experts(i);
    } else {
      place_rows(i);
    }
  }
  find_lifetimes();
  find_results_in_place();
  return std::move(plan_);
}

PhasePlan build_phases(const backends::ProgramCopy& program, const Kernels& kernels) {
  return PhaseBuilder(program, kernels).build();
}

}  // namespace tenon::cpu
