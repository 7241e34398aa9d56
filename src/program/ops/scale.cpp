#include <cmath>

#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t scale_columns(const OpView& view) {
  require(std::isfinite(view.op.params.scale.factor), view, "factor is no number");
  require(std::isfinite(view.op.params.scale.offset), view, "offset is no number");
  return columns_of(view, 0);
}

}  // namespace

constexpr OpRule op_table::scale{
    .inputs = "x", .rows = RowRule::LikeInput, .columns = scale_columns};

namespace op {

Slot scale(ProgramBuilder& builder, Slot x, float factor, float offset) {
  tenon_op op = new_op(TENON_OP_SCALE);
  op.params.scale = {factor, offset};
  return builder.add(op, {x});
}

}  // namespace op
}  // namespace tenon
