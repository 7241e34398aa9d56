#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

/// x and y may be equal.
template <typename Params>
void scale_and_shift(OpRun& run, const Params& p, const float* x, float* y, uint64_t n) noexcept {
  run.k.scale(x, p.factor, y, n);
  if (p.offset == 0.0f) return;
  for (uint64_t c = 0; c < n; ++c) y[c] += p.offset;
}

void scale_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const auto [x, out, n] = run.row(op.op, t);
  scale_and_shift(run, op.op.params.scale, x, out, n);
}

void scale_columns(OpRun& run, const RowOp& op, const ColumnBlock& block, uint64_t t) noexcept {
  scale_and_shift(run, op.op.params.scale, block.row(t), block.row(t), block.width);
}

}  // namespace

constexpr CpuOperation ops::scale{
    .kind = TENON_OP_SCALE, .row = scale_row, .columns = {.apply = scale_columns}};

}  // namespace tenon::cpu
