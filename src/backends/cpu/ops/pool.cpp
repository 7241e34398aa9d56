#include <algorithm>

#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

/// Pools one sequence; zeros if the step has no token of it.
void pool_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const tenon_step_sequence& from = sequences_of(run.step())[static_cast<uint32_t>(t)];
  const uint32_t input = op.op.inputs[0];
  const uint64_t n = run.columns(op.op.outputs[0]);
  float* out = run.f32_row(op.op.outputs[0], t);
  std::fill_n(out, n, 0.0f);
  if (from.num_tokens == 0) return;
  const uint64_t last = uint64_t{from.first_token} + from.num_tokens - 1;
  if (op.op.params.pool.kind == TENON_POOL_MEAN) {
    for (uint64_t i = from.first_token; i <= last; ++i) {
      run.k.add(out, run.f32_row(input, i), out, n);
    }
    run.k.scale(out, 1.0f / static_cast<float>(from.num_tokens), out, n);
    return;
  }
  const bool first = op.op.params.pool.kind == TENON_POOL_FIRST;
  std::copy_n(run.f32_row(input, first ? from.first_token : last), n, out);
}

}  // namespace

constexpr CpuOperation ops::pool{.kind = TENON_OP_POOL, .row = pool_row};

}  // namespace tenon::cpu
