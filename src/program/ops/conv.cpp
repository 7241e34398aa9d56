#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t conv_state(const OpView& view) {
  return (view.inputs[1]->columns - 1) * columns_of(view, 0);
}

uint64_t conv_columns(const OpView& view) {
  const tenon_slot& weight = *view.inputs[1];
  const uint64_t columns = columns_of(view, 0);
  require(weight.rows == columns, view,
          fmt::format("\"{}\" has filters for {} columns, its input has {}", weight.name,
                      weight.rows, columns));
  require(weight.columns <= UINT32_MAX, view, "a filter is too long");
  require_vector(view, 2, columns);
  require_state(view, conv_state(view));
  return columns;
}

OpCost conv_cost(const OpView& view) { return matrix_cost(*view.inputs[1], view.inputs[1]->rows); }

}  // namespace

constexpr OpRule op_table::conv{
    .inputs = "tWw", .columns = conv_columns, .cost = conv_cost, .state_values = conv_state};

namespace op {

Slot conv(ProgramBuilder& builder, Slot x, Slot weight, Slot bias, const StatePlace& state) {
  tenon_op op = new_op(TENON_OP_CONV);
  op.params.state = state_params(state);
  return builder.add(op, {x, weight, bias});
}

}  // namespace op
}  // namespace tenon
