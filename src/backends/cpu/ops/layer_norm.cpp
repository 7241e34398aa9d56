#include "backends/cpu/phases/norm.h"
#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

void layer_norm_segment(OpRun& run, const tenon_op& op, const float* x, float* y) noexcept {
  run.k.layer_norm(x, run.vector(op.inputs[1]), run.vector(op.inputs[2]), op.params.norm.epsilon, y,
                   op.params.norm.segment);
}

}  // namespace

constexpr CpuOperation ops::layer_norm = norm_operation<TENON_OP_LAYER_NORM, layer_norm_segment>();

}  // namespace tenon::cpu
