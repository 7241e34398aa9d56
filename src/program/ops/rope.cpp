#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t rope_columns(const OpView& view) {
  const tenon_rope_params& rope = view.op.params.rope;
  require(rope.style <= TENON_ROPE_HALVES, view, "unknown style");
  require(rope.head_dim > 0 && columns_of(view, 0) % rope.head_dim == 0, view,
          fmt::format("{} columns are not whole heads of {}", columns_of(view, 0), rope.head_dim));
  const uint64_t angles = columns_of(view, 1);
  require(
      angles % 2 == 0 && angles <= rope.head_dim && rope.offset <= rope.head_dim - angles, view,
      fmt::format("{} angles from {} do not fit a head of {}", angles, rope.offset, rope.head_dim));
  return columns_of(view, 0);
}

}  // namespace

constexpr OpRule op_table::rope{.inputs = "tt", .columns = rope_columns};

namespace op {

Slot rope(ProgramBuilder& builder, Slot x, Slot angles, uint32_t style, uint32_t head_dim,
          uint32_t offset) {
  tenon_op op = new_op(TENON_OP_ROPE);
  op.params.rope = {style, head_dim, offset};
  return builder.add(op, {x, angles});
}

}  // namespace op
}  // namespace tenon
