#include "program/op_rules.h"
#include "program/operations.h"
#include "program/ops/norm_rules.h"

namespace tenon {

constexpr OpRule op_table::l2_norm{
    .inputs = "x", .rows = RowRule::LikeInput, .columns = op_rules::norm_columns};

namespace op {

Slot l2_norm(ProgramBuilder& builder, Slot x, float epsilon, uint32_t segment) {
  return op_rules::add_norm(builder, TENON_OP_L2_NORM, {x}, epsilon, segment);
}

}  // namespace op
}  // namespace tenon
