#include "program/op_rules.h"
#include "program/operations.h"
#include "program/ops/norm_rules.h"

namespace tenon {

constexpr OpRule op_table::rms_norm{
    .inputs = "xw", .rows = RowRule::LikeInput, .columns = op_rules::norm_columns};

namespace op {

Slot rms_norm(ProgramBuilder& builder, Slot x, Slot weight, float epsilon, uint32_t segment) {
  return op_rules::add_norm(builder, TENON_OP_RMS_NORM, {x, weight}, epsilon, segment);
}

}  // namespace op
}  // namespace tenon
