#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t round_columns(const OpView& view) {
  const tenon_round_params& round = view.op.params.round;
  require(round.format <= TENON_ROUND_FP4_FP8, view, "unknown format");
  require_segments(view, 0, round.segment);
  return columns_of(view, 0);
}

}  // namespace

constexpr OpRule op_table::round{
    .inputs = "x", .rows = RowRule::LikeInput, .columns = round_columns};

namespace op {

Slot round(ProgramBuilder& builder, Slot x, uint32_t format, uint32_t segment) {
  tenon_op op = new_op(TENON_OP_ROUND);
  op.params.round = {format, segment};
  return builder.add(op, {x});
}

}  // namespace op
}  // namespace tenon
