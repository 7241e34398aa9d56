#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

void add_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const auto [x, out, n] = run.row(op.op, t);
  run.k.add(x, run.operand(op.op.inputs[1], t), out, n);
}

void add_columns(OpRun& run, const RowOp& op, const ColumnBlock& block, uint64_t t) noexcept {
  float* y = block.row(t);
  const float* other = run.operand(run.plan().other_operand(op.op), t);
  run.k.add(y, other + block.first, y, block.width);
}

}  // namespace

constexpr CpuOperation ops::add{
    .kind = TENON_OP_ADD, .row = add_row, .columns = {.apply = add_columns}};

}  // namespace tenon::cpu
