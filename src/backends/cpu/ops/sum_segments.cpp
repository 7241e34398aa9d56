#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

void sum_segments_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const auto [x, out, n] = run.row(op.op, t);
  const uint64_t size = op.op.params.segments.size;
  for (uint64_t j = 0; j < n; ++j) out[j] = run.k.sum(x + j * size, size);
}

}  // namespace

constexpr CpuOperation ops::sum_segments{.kind = TENON_OP_SUM_SEGMENTS, .row = sum_segments_row};

}  // namespace tenon::cpu
