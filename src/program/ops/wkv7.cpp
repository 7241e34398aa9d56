#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t wkv7_state(const OpView& view) {
  const uint64_t columns = columns_of(view, 0);
  return columns / view.op.params.wkv7.heads * columns;
}

uint64_t wkv7_columns(const OpView& view) {
  head_columns(view, 0, view.op.params.wkv7.heads);
  for (const uint32_t input : {1u, 2u, 3u, 4u, 5u}) {
    require_columns(view, input, columns_of(view, 0));
  }
  require_state(view, wkv7_state(view));
  return columns_of(view, 0);
}

/// Like ssm_scan, with an update of two products.
OpCost wkv7_cost(const OpView& view) { return {.state_multiplications = 5 * wkv7_state(view)}; }

}  // namespace

constexpr OpRule op_table::wkv7{
    .inputs = "tttttt", .columns = wkv7_columns, .cost = wkv7_cost, .state_values = wkv7_state};

namespace op {

Slot wkv7(ProgramBuilder& builder, const Wkv7Inputs& inputs, uint32_t heads,
          const StatePlace& state) {
  tenon_op op = new_op(TENON_OP_WKV7);
  op.params.wkv7 = {state_params(state), heads};
  return builder.add(op, {inputs.r, inputs.w, inputs.k, inputs.v, inputs.a, inputs.b});
}

}  // namespace op
}  // namespace tenon
