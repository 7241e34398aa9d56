#include "backends/cpu/device.h"
#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

uint32_t linear_heads_matrices(const tenon_op& op, uint32_t input) noexcept {
  return input == 1 ? op.params.linear_heads.heads : 0;
}

bool linear_heads_fits(const OperationTable& table, const tenon_program& program,
                       const tenon_op& op) noexcept {
  return matrices_supported(table, program, op, 1);
}

}  // namespace

constexpr CpuOperation ops::linear_heads{.kind = TENON_OP_LINEAR_HEADS,
                                         .placement = Placement::Linear,
                                         .fits = linear_heads_fits,
                                         .matrices = linear_heads_matrices};

}  // namespace tenon::cpu
