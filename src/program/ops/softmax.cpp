#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t softmax_columns(const OpView& view) {
  require_segments(view, 0, view.op.params.segments.size);
  return columns_of(view, 0);
}

}  // namespace

constexpr OpRule op_table::softmax{
    .inputs = "x", .rows = RowRule::LikeInput, .columns = softmax_columns};

namespace op {

Slot softmax(ProgramBuilder& builder, Slot x, uint32_t size) {
  tenon_op op = new_op(TENON_OP_SOFTMAX);
  op.params.segments = {size};
  return builder.add(op, {x});
}

}  // namespace op
}  // namespace tenon
