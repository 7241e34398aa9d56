#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t slice_columns(const OpView& view) {
  const tenon_slice_params& slice = view.op.params.slice;
  require_segments(view, 0, slice.segment);
  require(slice.columns > 0 && uint64_t{slice.first} + slice.columns <= slice.segment, view,
          fmt::format("{} columns from {} of segments of {}", slice.columns, slice.first,
                      slice.segment));
  return columns_of(view, 0) / slice.segment * slice.columns;
}

}  // namespace

constexpr OpRule op_table::slice{
    .inputs = "x", .rows = RowRule::LikeInput, .columns = slice_columns};

namespace op {

Slot slice(ProgramBuilder& builder, Slot x, uint32_t segment, uint32_t first, uint32_t columns) {
  tenon_op op = new_op(TENON_OP_SLICE);
  op.params.slice = {segment, first, columns};
  return builder.add(op, {x});
}

}  // namespace op
}  // namespace tenon
