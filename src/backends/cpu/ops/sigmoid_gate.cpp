#include <cmath>

#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

float one_sigmoid(float x) noexcept { return 1.0f / (1.0f + std::exp(-x)); }

/// Fuses only one gate per row.
bool sigmoid_gate_follows(const PhasePlan& plan, const RowOp& op, uint32_t result) noexcept {
  return op.op.inputs[0] == result && plan.slots[op.op.inputs[1]].slot.columns == 1;
}

void sigmoid_gate_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const auto [x, out, n] = run.row(op.op, t);
  const float* gate = run.f32_row(op.op.inputs[1], t);
  const uint64_t segments = run.columns(op.op.inputs[1]);
  if (segments == n && n > 1) return run.k.gate(x, gate, out, n);
  const uint64_t width = n / segments;
  for (uint64_t j = 0; j < segments; ++j) {
    run.k.scale(x + j * width, one_sigmoid(gate[j]), out + j * width, width);
  }
}

void sigmoid_gate_columns(OpRun& run, const RowOp& op, const ColumnBlock& block,
                          uint64_t t) noexcept {
  float* y = block.row(t);
  run.k.scale(y, one_sigmoid(*run.f32_row(op.op.inputs[1], t)), y, block.width);
}

}  // namespace

constexpr CpuOperation ops::sigmoid_gate{
    .kind = TENON_OP_SIGMOID_GATE,
    .row = sigmoid_gate_row,
    .columns = {.apply = sigmoid_gate_columns, .fits = sigmoid_gate_follows}};

}  // namespace tenon::cpu
