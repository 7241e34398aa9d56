#include <algorithm>

#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

/// y += factor x
void add_scaled(const float* x, float factor, float* y, uint64_t n) noexcept {
  for (uint64_t c = 0; c < n; ++c) y[c] += factor * x[c];
}

void mix_streams_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const tenon_op& mix = op.op;
  const uint32_t streams = mix.params.mix_streams.streams;
  const uint32_t results = mix.params.mix_streams.results;
  const uint64_t width = run.columns(mix.inputs[0]) / streams;
  const float* x = run.f32_row(mix.inputs[0], t);
  float* out = run.f32_row(mix.outputs[0], t);
  const float* matrix = mix.inputs[1] == TENON_NO_SLOT ? nullptr : run.f32_row(mix.inputs[1], t);
  for (uint32_t i = 0; i < results; ++i) {
    float* y = out + i * width;
    if (matrix == nullptr && results == streams) {
      std::copy_n(x + i * width, width, y);
    } else {
      run.k.scale(x, matrix == nullptr ? 1.0f : matrix[i], y, width);
      for (uint32_t j = 1; j < streams; ++j) {
        add_scaled(x + j * width, matrix == nullptr ? 1.0f : matrix[j * results + i], y, width);
      }
    }
    if (mix.inputs[2] == TENON_NO_SLOT) continue;
    add_scaled(run.f32_row(mix.inputs[2], t), run.f32_row(mix.inputs[3], t)[i], y, width);
  }
}

}  // namespace

constexpr CpuOperation ops::mix_streams{.kind = TENON_OP_MIX_STREAMS, .row = mix_streams_row};

}  // namespace tenon::cpu
