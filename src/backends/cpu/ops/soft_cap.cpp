#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

void soft_cap_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const auto [x, out, n] = run.row(op.op, t);
  run.k.soft_cap(x, op.op.params.soft_cap.cap, out, n);
}

void soft_cap_columns(OpRun& run, const RowOp& op, const ColumnBlock& block, uint64_t t) noexcept {
  run.k.soft_cap(block.row(t), op.op.params.soft_cap.cap, block.row(t), block.width);
}

}  // namespace

constexpr CpuOperation ops::soft_cap{
    .kind = TENON_OP_SOFT_CAP, .row = soft_cap_row, .columns = {.apply = soft_cap_columns}};

}  // namespace tenon::cpu
