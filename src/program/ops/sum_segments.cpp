#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t sum_segments_columns(const OpView& view) {
  const uint64_t size = view.op.params.segments.size;
  require_segments(view, 0, size);
  return columns_of(view, 0) / size;
}

}  // namespace

constexpr OpRule op_table::sum_segments{
    .inputs = "x", .rows = RowRule::LikeInput, .columns = sum_segments_columns};

namespace op {

Slot sum_segments(ProgramBuilder& builder, Slot x, uint32_t size) {
  tenon_op op = new_op(TENON_OP_SUM_SEGMENTS);
  op.params.segments = {size};
  return builder.add(op, {x});
}

}  // namespace op
}  // namespace tenon
