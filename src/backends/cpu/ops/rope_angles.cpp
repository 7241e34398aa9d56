#include <cmath>
#include <span>

#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

void rope_angles_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const std::span<const double> frequencies = run.program().constant(op.op.inputs[0]);
  const bool by_parts = op.op.inputs[1] != TENON_NO_SLOT;
  const tenon_rope_angles_params& params = op.op.params.rope_angles;
  const double magnitude = params.magnitude;
  float* out = run.f32_row(op.op.outputs[0], t);
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double part = by_parts ? run.program().constant(op.op.inputs[1])[i] : 0;
    const double at = run.position(t, static_cast<uint32_t>(part));
    const double angle = (at + params.offset) * frequencies[i];
    out[i] = static_cast<float>(std::cos(angle) * magnitude);
    out[frequencies.size() + i] = static_cast<float>(std::sin(angle) * magnitude);
  }
}

}  // namespace

constexpr CpuOperation ops::rope_angles{.kind = TENON_OP_ROPE_ANGLES, .row = rope_angles_row};

}  // namespace tenon::cpu
