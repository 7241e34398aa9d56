#include <cstring>

#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

void gather_rows_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const uint64_t n = run.columns(op.op.outputs[0]);
  std::memcpy(run.f32_row(op.op.outputs[0], t),
              run.f32_row(op.op.inputs[0], run.step().output_rows[t]), n * sizeof(float));
}

}  // namespace

constexpr CpuOperation ops::gather_rows{.kind = TENON_OP_GATHER_ROWS, .row = gather_rows_row};

}  // namespace tenon::cpu
