#include <cstring>

#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

/// Adds the parts of a row in the order of its chosen experts.
void sum_experts_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const uint64_t n = run.columns(op.op.outputs[0]);
  const uint64_t used = run.columns(op.op.inputs[0]) / n;
  const float* part = run.f32_row(op.op.inputs[0], t);
  float* out = run.f32_row(op.op.outputs[0], t);
  std::memcpy(out, part, n * sizeof(float));
  for (uint64_t j = 1; j < used; ++j) run.k.add(out, part + j * n, out, n);
}

}  // namespace

constexpr CpuOperation ops::sum_experts{.kind = kOpSumExperts, .row = sum_experts_row};

}  // namespace tenon::cpu
