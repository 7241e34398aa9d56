#include <cstring>

#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

void slice_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const tenon_slice_params& p = op.op.params.slice;
  const auto [x, out, n] = run.row(op.op, t);
  for (uint64_t j = 0; j < n / p.columns; ++j) {
    std::memcpy(out + j * p.columns, x + j * p.segment + p.first, p.columns * sizeof(float));
  }
}

}  // namespace

constexpr CpuOperation ops::slice{.kind = TENON_OP_SLICE, .row = slice_row};

}  // namespace tenon::cpu
