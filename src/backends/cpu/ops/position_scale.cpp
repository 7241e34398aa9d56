#include <cmath>

#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

void position_scale_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const auto [x, out, n] = run.row(op.op, t);
  const tenon_position_scale_params& p = op.op.params.position_scale;
  const double lengths = std::floor((1.0 * p.offset + run.position(t)) / p.length);
  const double factor = 1 + double{p.scale} * std::log(lengths + 1);
  run.k.scale(x, static_cast<float>(factor), out, n);
}

}  // namespace

constexpr CpuOperation ops::position_scale{.kind = TENON_OP_POSITION_SCALE,
                                           .row = position_scale_row};

}  // namespace tenon::cpu
