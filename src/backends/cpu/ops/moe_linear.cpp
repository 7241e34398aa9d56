#include "backends/cpu/device.h"
#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

uint32_t moe_linear_matrices(const tenon_op& op, uint32_t input) noexcept {
  return input == 2 ? op.params.moe_linear.experts : 0;
}

bool moe_linear_fits(const OperationTable& table, const tenon_program& program,
                     const tenon_op& op) noexcept {
  return matrices_supported(table, program, op, 2);
}

}  // namespace

constexpr CpuOperation ops::moe_linear{.kind = TENON_OP_MOE_LINEAR,
                                       .placement = Placement::Experts,
                                       .fits = moe_linear_fits,
                                       .matrices = moe_linear_matrices};

}  // namespace tenon::cpu
