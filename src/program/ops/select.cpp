#include "program/op_rules.h"
#include "program/operations.h"
#include "program/ops/select_rules.h"

namespace tenon {

constexpr OpRule op_table::select{.inputs = "tt",
                                  .outputs = "i",
                                  .columns = op_rules::select_columns,
                                  .cost = op_rules::select_cost,
                                  .connect = op_rules::connect_select};

namespace op {

Slot select(ProgramBuilder& builder, Slot q, Slot weights, const SelectOptions& options) {
  tenon_op op = new_op(TENON_OP_SELECT);
  op.params.select = {options.group, options.layer, options.heads, options.count};
  return builder.add(op, {q, weights});
}

}  // namespace op
}  // namespace tenon
