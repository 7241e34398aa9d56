#include "backends/cpu/phases/op_run.h"
#include "backends/cpu/phases/recurrence.h"

namespace tenon::cpu {
namespace {

void run_conv(OpRun& run, const RecurrentItem& item, uint32_t) noexcept {
  const uint64_t stride = run.columns(item.op.inputs[0]);
  const uint64_t first = item.chunk * kItemColumns;
  const auto taps = static_cast<uint32_t>(run.columns(item.op.inputs[1]));
  const float* bias = run.vector(item.op.inputs[2]);
  ConvArgs args{};
  args.taps = taps;
  args.num_tokens = item.sequence.num_tokens;
  args.columns = item_width(stride, item.chunk);
  args.stride = stride;
  args.state = begin_state(run, item, first, args.columns, taps - 1, stride);
  args.x = run.f32_row(item.op.inputs[0], item.sequence.first_token) + first;
  args.weight = run.vector(item.op.inputs[1]) + first;
  args.bias = bias == nullptr ? nullptr : bias + first;
  args.out = run.f32_row(item.op.outputs[0], item.sequence.first_token) + first;
  run.k.conv(args);
}

}  // namespace

constexpr CpuOperation ops::conv{.kind = TENON_OP_CONV,
                                 .placement = Placement::Own,
                                 .fits = recurrence_fits,
                                 .transposed = 1,
                                 .phase = kRecurrentPhase<column_chunks, run_conv>};

}  // namespace tenon::cpu
