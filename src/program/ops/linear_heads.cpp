#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t linear_heads_columns(const OpView& view) {
  const uint64_t heads = view.op.params.linear_heads.heads;
  const tenon_slot& weight = *view.inputs[1];
  require(heads > 0 && weight.rows % heads == 0, view,
          fmt::format("\"{}\" has {} rows, which {} heads do not share evenly", weight.name,
                      weight.rows, heads));
  require(columns_of(view, 0) == heads * weight.columns, view,
          fmt::format("\"{}\" has {} columns, its input has {}, not {} times as many", weight.name,
                      weight.columns, columns_of(view, 0), heads));
  return weight.rows;
}

}  // namespace

constexpr OpRule op_table::linear_heads{.inputs = "xW",
                                        .rows = RowRule::LikeInput,
                                        .columns = linear_heads_columns,
                                        .cost = linear_cost};

namespace op {

Slot linear_heads(ProgramBuilder& builder, Slot x, Slot weight, uint32_t heads) {
  tenon_op op = new_op(TENON_OP_LINEAR_HEADS);
  op.params.linear_heads = {heads};
  return builder.add(op, {x, weight});
}

}  // namespace op
}  // namespace tenon
