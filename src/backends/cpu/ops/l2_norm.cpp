#include "backends/cpu/phases/norm.h"
#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

void l2_norm_segment(OpRun& run, const tenon_op& op, const float* x, float* y) noexcept {
  run.k.l2_norm(x, op.params.norm.epsilon, y, op.params.norm.segment);
}

}  // namespace

constexpr CpuOperation ops::l2_norm = norm_operation<TENON_OP_L2_NORM, l2_norm_segment>();

}  // namespace tenon::cpu
