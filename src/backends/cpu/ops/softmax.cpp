#include <algorithm>
#include <cmath>

#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

void softmax_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const auto [x, out, n] = run.row(op.op, t);
  const uint64_t size = op.op.params.segments.size;
  for (uint64_t first = 0; first < n; first += size) {
    const float largest = *std::max_element(x + first, x + first + size);
    float sum = 0.0f;
    for (uint64_t i = first; i < first + size; ++i) sum += out[i] = std::exp(x[i] - largest);
    for (uint64_t i = first; i < first + size; ++i) out[i] /= sum;
  }
}

}  // namespace

constexpr CpuOperation ops::softmax{.kind = TENON_OP_SOFTMAX, .row = softmax_row};

}  // namespace tenon::cpu
