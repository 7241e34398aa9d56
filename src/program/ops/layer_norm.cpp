#include "program/op_rules.h"
#include "program/operations.h"
#include "program/ops/norm_rules.h"

namespace tenon {

constexpr OpRule op_table::layer_norm{
    .inputs = "xww", .rows = RowRule::LikeInput, .columns = op_rules::norm_columns};

namespace op {

Slot layer_norm(ProgramBuilder& builder, Slot x, Slot weight, Slot bias, float epsilon,
                uint32_t segment) {
  return op_rules::add_norm(builder, TENON_OP_LAYER_NORM, {x, weight, bias}, epsilon, segment);
}

}  // namespace op
}  // namespace tenon
