#include "backends/cpu/phases/norm.h"
#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

void rms_norm_segment(OpRun& run, const tenon_op& op, const float* x, float* y) noexcept {
  run.k.rms_norm(x, run.vector(op.inputs[1]), op.params.norm.epsilon, y, op.params.norm.segment);
}

}  // namespace

constexpr CpuOperation ops::rms_norm = norm_operation<TENON_OP_RMS_NORM, rms_norm_segment>();

}  // namespace tenon::cpu
