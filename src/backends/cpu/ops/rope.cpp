#include <algorithm>

#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

/// Rotates the heads of n columns of row t; x and y may be equal.
void rope_heads(OpRun& run, const tenon_op& op, const float* x, uint64_t t, float* y,
                uint64_t n) noexcept {
  const tenon_rope_params& p = op.params.rope;
  const auto pairs = static_cast<uint32_t>(run.columns(op.inputs[1]) / 2);
  for (uint64_t c = 0; c < n; c += p.head_dim) {
    if (x != y) std::copy_n(x + c, p.offset, y + c);
    run.k.rope(p.style, x + c + p.offset, run.f32_row(op.inputs[1], t), pairs, y + c + p.offset,
               p.head_dim - p.offset);
  }
}

uint64_t rope_together(const RowOp& op, std::span<const tenon_cache_group>) noexcept {
  return op.op.params.rope.head_dim;
}

void rope_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const auto [x, out, n] = run.row(op.op, t);
  rope_heads(run, op.op, x, t, out, n);
}

void rope_columns(OpRun& run, const RowOp& op, const ColumnBlock& block, uint64_t t) noexcept {
  rope_heads(run, op.op, block.row(t), t, block.row(t), block.width);
}

}  // namespace

constexpr CpuOperation ops::rope{.kind = TENON_OP_ROPE,
                                 .row = rope_row,
                                 .columns = {.apply = rope_columns, .together = rope_together}};

}  // namespace tenon::cpu
