#include <cstring>

#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

void concat_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const tenon_concat_params& p = op.op.params.concat;
  const float* x = run.f32_row(op.op.inputs[0], t);
  const float* y = run.f32_row(op.op.inputs[1], t);
  float* out = run.f32_row(op.op.outputs[0], t);
  const uint64_t a = run.columns(op.op.inputs[0]) / p.segments;
  const uint64_t b = run.columns(op.op.inputs[1]) / (p.broadcast == 1 ? 1 : p.segments);
  for (uint64_t j = 0; j < p.segments; ++j) {
    float* segment = out + j * (a + b);
    std::memcpy(segment, x + j * a, a * sizeof(float));
    std::memcpy(segment + a, y + (p.broadcast == 1 ? 0 : j * b), b * sizeof(float));
  }
}

}  // namespace

constexpr CpuOperation ops::concat{.kind = TENON_OP_CONCAT, .row = concat_row};

}  // namespace tenon::cpu
