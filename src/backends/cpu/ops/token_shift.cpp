#include <cstring>

#include "backends/cpu/phases/op_run.h"
#include "backends/cpu/phases/recurrence.h"

namespace tenon::cpu {
namespace {

void run_token_shift(OpRun& run, const RecurrentItem& item, uint32_t) noexcept {
  const uint64_t stride = run.columns(item.op.inputs[0]);
  const uint64_t first = item.chunk * kItemColumns;
  const uint64_t bytes = item_width(stride, item.chunk) * sizeof(float);
  const float* x = run.f32_row(item.op.inputs[0], item.sequence.first_token) + first;
  float* out = run.f32_row(item.op.outputs[0], item.sequence.first_token) + first;
  float* state = begin_state(run, item, first, item_width(stride, item.chunk));
  const uint64_t last = item.sequence.num_tokens - 1;
  std::memcpy(out, state, bytes);
  for (uint64_t t = 0; t < last; ++t) std::memcpy(out + (t + 1) * stride, x + t * stride, bytes);
  std::memcpy(state, x + last * stride, bytes);
}

}  // namespace

constexpr CpuOperation ops::token_shift{.kind = TENON_OP_TOKEN_SHIFT,
                                        .placement = Placement::Own,
                                        .fits = recurrence_fits,
                                        .phase = kRecurrentPhase<column_chunks, run_token_shift>};

}  // namespace tenon::cpu
