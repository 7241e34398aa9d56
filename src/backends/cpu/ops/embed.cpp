#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

uint32_t embed_matrices(const tenon_op&, uint32_t input) noexcept { return input == 0 ? 1 : 0; }

void embed_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  const bool by_position = op.op.params.embed.source == TENON_EMBED_POSITIONS;
  const int32_t number = by_position ? run.position(t) : run.step().tokens[t];
  unpack_row(run.weight(op.op.inputs[0]).matrix, static_cast<uint64_t>(number),
             run.f32_row(op.op.outputs[0], t));
}

}  // namespace

constexpr CpuOperation ops::embed{
    .kind = TENON_OP_EMBED, .matrices = embed_matrices, .looks_up = true, .row = embed_row};

}  // namespace tenon::cpu
