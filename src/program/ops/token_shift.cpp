#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t token_shift_state(const OpView& view) { return columns_of(view, 0); }

uint64_t token_shift_columns(const OpView& view) {
  require_state(view, token_shift_state(view));
  return columns_of(view, 0);
}

}  // namespace

constexpr OpRule op_table::token_shift{
    .inputs = "t", .columns = token_shift_columns, .state_values = token_shift_state};

namespace op {

Slot token_shift(ProgramBuilder& builder, Slot x, const StatePlace& state) {
  tenon_op op = new_op(TENON_OP_TOKEN_SHIFT);
  op.params.state = state_params(state);
  return builder.add(op, {x});
}

}  // namespace op
}  // namespace tenon
