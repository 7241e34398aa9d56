#include <algorithm>
#include <cmath>

#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

/// Divides each of `size` lines, `stride` apart, by its sum plus epsilon; values are `step` apart.
void divide_lines(float* matrix, uint32_t size, uint32_t stride, uint32_t step,
                  float epsilon) noexcept {
  for (uint32_t line = 0; line < size; ++line) {
    float* values = matrix + line * stride;
    float sum = epsilon;
    for (uint32_t k = 0; k < size; ++k) sum += values[k * step];
    for (uint32_t k = 0; k < size; ++k) values[k * step] /= sum;
  }
}

void sinkhorn_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const tenon_sinkhorn_params& p = op.op.params.sinkhorn;
  const float* x = run.f32_row(op.op.inputs[0], t);
  float* out = run.f32_row(op.op.outputs[0], t);
  const uint32_t size = p.size;
  for (uint32_t i = 0; i < size; ++i) {
    const float* logits = x + i * size;
    float* y = out + i * size;
    const float largest = *std::max_element(logits, logits + size);
    float sum = 0.0f;
    for (uint32_t j = 0; j < size; ++j) sum += y[j] = std::exp(logits[j] - largest);
    for (uint32_t j = 0; j < size; ++j) y[j] = y[j] / sum + p.epsilon;
  }
  divide_lines(out, size, 1, size, p.epsilon);
  for (uint32_t i = 1; i < p.iterations; ++i) {
    divide_lines(out, size, size, 1, p.epsilon);
    divide_lines(out, size, 1, size, p.epsilon);
  }
}

}  // namespace

constexpr CpuOperation ops::sinkhorn{.kind = TENON_OP_SINKHORN, .row = sinkhorn_row};

}  // namespace tenon::cpu
