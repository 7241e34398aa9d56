#include <cmath>

#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t soft_cap_columns(const OpView& view) {
  const float cap = view.op.params.soft_cap.cap;
  require(std::isfinite(cap) && cap > 0, view, "cap is not a positive number");
  return columns_of(view, 0);
}

}  // namespace

constexpr OpRule op_table::soft_cap{
    .inputs = "x", .rows = RowRule::LikeInput, .columns = soft_cap_columns};

namespace op {

Slot soft_cap(ProgramBuilder& builder, Slot x, float cap) {
  tenon_op op = new_op(TENON_OP_SOFT_CAP);
  op.params.soft_cap.cap = cap;
  return builder.add(op, {x});
}

}  // namespace op
}  // namespace tenon
