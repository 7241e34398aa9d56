#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {

constexpr OpRule op_table::gather_rows{
    .inputs = "t", .rows = RowRule::Outputs, .columns = op_rules::same_columns};

namespace op {

Slot gather_rows(ProgramBuilder& builder, Slot x) {
  return builder.add(new_op(TENON_OP_GATHER_ROWS), {x});
}

}  // namespace op
}  // namespace tenon
