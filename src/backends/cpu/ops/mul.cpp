#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

void mul_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const auto [x, out, n] = run.row(op.op, t);
  const float* y = run.operand(op.op.inputs[1], t);
  const uint64_t segments = run.columns(op.op.inputs[1]);
  if (segments == n) return run.k.mul(x, y, out, n);
  const uint64_t width = n / segments;
  for (uint64_t j = 0; j < segments; ++j) {
    run.k.scale(x + j * width, y[j], out + j * width, width);
  }
}

}  // namespace

constexpr CpuOperation ops::mul{.kind = TENON_OP_MUL, .row = mul_row};

}  // namespace tenon::cpu
