#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t wkv6_state(const OpView& view) {
  const uint64_t columns = columns_of(view, 0);
  return columns / view.op.params.wkv6.heads * columns;
}

uint64_t wkv6_columns(const OpView& view) {
  head_columns(view, 0, view.op.params.wkv6.heads);
  for (const uint32_t input : {1u, 2u, 3u}) require_columns(view, input, columns_of(view, 0));
  require_vector(view, 4, columns_of(view, 0));
  require_state(view, wkv6_state(view));
  return columns_of(view, 0);
}

/// Cost like ssm_scan.
OpCost wkv6_cost(const OpView& view) { return {.state_multiplications = 3 * wkv6_state(view)}; }

}  // namespace

constexpr OpRule op_table::wkv6{
    .inputs = "ttttw", .columns = wkv6_columns, .cost = wkv6_cost, .state_values = wkv6_state};

namespace op {

Slot wkv6(ProgramBuilder& builder, const Wkv6Inputs& inputs, uint32_t heads,
          const StatePlace& state) {
  tenon_op op = new_op(TENON_OP_WKV6);
  op.params.wkv6 = {state_params(state), heads};
  return builder.add(op, {inputs.r, inputs.w, inputs.k, inputs.v, inputs.u});
}

}  // namespace op
}  // namespace tenon
