#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

/// Never fused here: PhaseBuilder::fuse_glu joins two linears.
bool glu_follows(const PhasePlan&, const RowOp&, uint32_t) noexcept { return false; }

void glu_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const auto [x, out, n] = run.row(op.op, t);
  run.k.glu(op.op.params.glu, x, run.f32_row(op.op.inputs[1], t), out, n);
}

void glu_columns(OpRun& run, const RowOp& op, const ColumnBlock& block, uint64_t t) noexcept {
  float* y = block.row(t);
  run.k.glu(op.op.params.glu, y, block.y2 + t * block.stride(), y, block.width);
}

}  // namespace

constexpr CpuOperation ops::glu{
    .kind = TENON_OP_GLU, .row = glu_row, .columns = {.apply = glu_columns, .fits = glu_follows}};

}  // namespace tenon::cpu
