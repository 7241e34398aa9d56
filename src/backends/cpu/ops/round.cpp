#include "abi/rounded_values.h"
#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

void round_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const auto [x, out, n] = run.row(op.op, t);
  backends::round_values(op.op.params.round, x, out, n);
}

}  // namespace

constexpr CpuOperation ops::round{.kind = TENON_OP_ROUND, .row = round_row};

}  // namespace tenon::cpu
