#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

void activate_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const auto [x, out, n] = run.row(op.op, t);
  run.k.activate(op.op.params.activate, x, out, n);
}

void activate_columns(OpRun& run, const RowOp& op, const ColumnBlock& block, uint64_t t) noexcept {
  run.k.activate(op.op.params.activate, block.row(t), block.row(t), block.width);
}

}  // namespace

constexpr CpuOperation ops::activate{
    .kind = TENON_OP_ACTIVATE, .row = activate_row, .columns = {.apply = activate_columns}};

}  // namespace tenon::cpu
