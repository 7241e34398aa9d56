// Builds the phases of mixtures of experts: route, gather, experts.
#include <algorithm>
#include <numeric>

#include "backends/cpu/phases/phase_builder.h"

namespace tenon::cpu {
namespace {

// Inputs of a moe_linear.
constexpr uint32_t kInput = 0, kIds = 1, kWeight = 2, kRouteWeights = 3, kBias = 4;

bool weighs(const tenon_op& op, uint32_t what) {
  return op.inputs[kRouteWeights] != TENON_NO_SLOT && op.params.moe_linear.weigh == what;
}
bool weighs_inputs(const tenon_op& op) { return weighs(op, TENON_MOE_WEIGHT_INPUTS); }
bool weighs_outputs(const tenon_op& op) { return weighs(op, TENON_MOE_WEIGHT_OUTPUTS); }

/// True if the choice needs scores, because logits alone do not order the experts.
bool chooses_by_scores(const tenon_op& op) {
  const tenon_moe_route_params& route = op.params.moe_route;
  return route.scoring >= TENON_MOE_SIGMOID || route.normalise == 1 || route.groups > 1 ||
         op.inputs[1] != TENON_NO_SLOT || op.inputs[2] != TENON_NO_SLOT ||
         op.inputs[3] != TENON_NO_SLOT;
}

/// Notes that an expert reads the rows in a quantised format, or as f32 (0).
void add_reader(GatheredRows& rows, ActivationFormat format) {
  rows.formats |= format;
  rows.floats = rows.floats || format == 0;
}

}  // namespace

/// Splits a moe_linear with a sum into one without, which writes weighted results, and a sum over
/// them.
void PhaseBuilder::add_expert_sum(const RowOp& row) {
  const tenon_op& op = row.op;
  SlotInfo parts;
  parts.slot = plan_.slots[op.outputs[0]].slot;
  parts.slot.columns *= columns(op.inputs[kIds]);
  parts.bound = false;
  plan_.slots.push_back(parts);
  Item multiply;
  multiply.row = row;
  multiply.row.op.outputs[0] = static_cast<uint32_t>(plan_.slots.size() - 1);
  Item sum;
  sum.row.op = op;
  sum.row.op.kind = kOpSumExperts;
  sum.row.entry = &ops::sum_experts;
  sum.row.op.num_inputs = 1;
  for (uint32_t& input : sum.row.op.inputs) input = TENON_NO_SLOT;
  sum.row.op.inputs[0] = multiply.row.op.outputs[0];
  items_.push_back(multiply);
  items_.push_back(sum);
}

uint32_t PhaseBuilder::route_of(uint32_t slot) const {
  const auto same = [slot](const RouteInfo& route) { return route.ids == slot; };
  const auto found = std::find_if(plan_.routes.begin(), plan_.routes.end(), same);
  return static_cast<uint32_t>(found - plan_.routes.begin());
}

void PhaseBuilder::place_route(size_t index) {
  const tenon_op op = items_[index].row.op;
  place_operation(index);
  plan_.phases.back().route = static_cast<uint32_t>(plan_.routes.size());
  plan_.routes.push_back({op.outputs[0], op.outputs[1],
                          static_cast<uint32_t>(columns(op.inputs[0])), op.params.moe_route.used,
                          chooses_by_scores(op)});
}

/// Index of the gathered rows of a moe_linear's input. Adds a gather phase if none has made them.
uint32_t PhaseBuilder::gathered_input(const tenon_op& op) {
  const uint32_t route = route_of(op.inputs[kIds]);
  const uint64_t depth = columns(op.inputs[kWeight]);
  const auto same = [&](const GatheredRows& rows) {
    return rows.source == op.inputs[kInput] && rows.route == route && rows.columns == depth &&
           rows.weighted == weighs_inputs(op);
  };
  const auto found = std::find_if(plan_.gathered.begin(), plan_.gathered.end(), same);
  const auto number = static_cast<uint32_t>(found - plan_.gathered.begin());
  if (found != plan_.gathered.end()) return number;
  Phase phase;
  phase.kind = PhaseKind::Gather;
  phase.row_class = info(op.inputs[kInput]).slot.row_class;
  phase.route = route;
  phase.gathered = number;
  plan_.phases.push_back(std::move(phase));
  GatheredRows rows;
  rows.source = op.inputs[kInput];
  rows.route = route;
  rows.columns = depth;
  rows.by_row = columns(rows.source) == depth;
  rows.weighted = rows.floats = weighs_inputs(op);
  rows.first_phase = last_phase();
  plan_.gathered.push_back(rows);
  return number;
}

/// Fuses gate and up into one task if the other operand of the GLU is a moe_linear of the same
/// rows.
void PhaseBuilder::fuse_expert_glu(const tenon_op& gate, ExpertTask& task, uint32_t& result) {
  const std::vector<size_t> readers = consumers(result);
  if (info(result).bound || readers.size() != 1 || items_[readers[0]].done) return;
  const RowOp& row = items_[readers[0]].row;
  if (row.kind != RowKind::Op || row.op.kind != TENON_OP_GLU || row.op.inputs[0] != result) return;
  const uint32_t up = row.op.inputs[1];
  if (up == result || consumers(up).size() != 1 || info(up).bound) return;
  for (Item& item : items_) {
    const tenon_op& op = item.row.op;
    if (item.done || op.kind != TENON_OP_MOE_LINEAR || op.outputs[0] != up) continue;
    const bool same_rows =
        op.inputs[kInput] == gate.inputs[kInput] && op.inputs[kIds] == gate.inputs[kIds] &&
        weighs_inputs(op) == weighs_inputs(gate) && !weighs_outputs(op) && !weighs_outputs(gate);
    if (!same_rows || columns(op.inputs[kWeight]) != columns(task.weight) ||
        format_read_by(op.inputs[kWeight]) != format_read_by(task.weight)) {
      return;
    }
    task.second = op.inputs[kWeight];
    task.second_bias = op.inputs[kBias];
    task.glu = row.op.params.glu;
    item.done = true;
    items_[readers[0]].done = true;
    result = row.op.outputs[0];
    return;
  }
}

/// Keeps the results in expert order if all readers are experts of the same route. Returns true on
/// success.
bool PhaseBuilder::keep_gathered(const tenon_op& op, ExpertTask& task, uint32_t result) {
  GatheredRows rows;
  rows.source = result;
  rows.route = route_of(op.inputs[kIds]);
  rows.columns = task.columns;
  rows.first_phase = rows.last_phase = last_phase();
  const std::vector<size_t> readers = consumers(result);
  for (const size_t i : readers) {
    const RowOp& row = items_[i].row;
    const bool fits = row.kind == RowKind::Op && row.op.kind == TENON_OP_MOE_LINEAR &&
                      row.op.inputs[kInput] == result && row.op.inputs[kIds] == op.inputs[kIds] &&
                      !weighs_inputs(row.op) && columns(row.op.inputs[kWeight]) == task.columns;
    if (!fits) return false;
    add_reader(rows, format_read_by(row.op.inputs[kWeight]));
  }
  if (readers.empty() || info(result).bound || task.weighted) return false;
  task.keep = static_cast<uint32_t>(plan_.gathered.size());
  plan_.gathered.push_back(rows);
  return true;
}

void PhaseBuilder::place_experts(size_t index) {
  const tenon_op op = items_[index].row.op;
  const uint32_t input = gathered_input(op);
  const Phase& last = plan_.phases.back();
  if (last.kind != PhaseKind::Experts || last.gathered != input) {
    Phase phase;
    phase.kind = PhaseKind::Experts;
    phase.row_class = info(op.outputs[0]).slot.row_class;
    phase.route = plan_.gathered[input].route;
    phase.gathered = input;
    plan_.phases.push_back(std::move(phase));
  }
  ExpertTask task;
  task.weight = op.inputs[kWeight];
  task.bias = op.inputs[kBias];
  task.weighted = weighs_outputs(op);
  task.first_is_zero = op.params.moe_linear.first_is_zero == 1;
  task.columns = info(task.weight).slot.rows / op.params.moe_linear.experts;
  const PanelFormat& layout =
      panel_format(static_cast<Format>(info(task.weight).slot.type), kernels_);
  task.block = std::lcm<uint64_t>(layout.panel_rows, kActivationBlock);
  uint32_t result = op.outputs[0];
  fuse_expert_glu(op, task, result);
  add_reader(plan_.gathered[input], format_read_by(task.weight));
  plan_.gathered[input].last_phase = last_phase();
  if (!keep_gathered(op, task, result)) {
    task.store = result;
    info(result).stored = true;
  }
  info(result).first_phase = last_phase();
  plan_.phases.back().experts.push_back(task);
}

}  // namespace tenon::cpu
