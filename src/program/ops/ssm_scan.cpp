#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t ssm_scan_state(const OpView& view) {
  return columns_of(view, 0) * view.op.params.ssm_scan.size;
}

uint64_t ssm_scan_columns(const OpView& view) {
  const tenon_ssm_scan_params& scan = view.op.params.ssm_scan;
  const uint64_t columns = columns_of(view, 0);
  head_columns(view, 0, scan.heads);
  require(scan.groups > 0 && scan.heads % scan.groups == 0, view,
          fmt::format("{} heads do not share {} groups evenly", scan.heads, scan.groups));
  require(scan.size > 0, view, "a state of no columns");
  require_columns(view, 1, scan.heads);
  const tenon_slot& a = *view.inputs[2];
  require(a.rows == scan.heads && (a.columns == 1 || a.columns == scan.size), view,
          fmt::format("\"{}\" is [{}, {}], expected [{}, 1 or {}]", a.name, a.rows, a.columns,
                      scan.heads, scan.size));
  for (const uint32_t input : {3u, 4u}) {
    require_columns(view, input, uint64_t{scan.groups} * scan.size);
  }
  require_vector(view, 5, scan.heads);
  require_state(view, ssm_scan_state(view));
  return columns;
}

/// Per state value: the decay, the update and a term of the result.
OpCost ssm_scan_cost(const OpView& view) {
  return {.state_multiplications = 3 * ssm_scan_state(view)};
}

}  // namespace

constexpr OpRule op_table::ssm_scan{.inputs = "ttWttw",
                                    .columns = ssm_scan_columns,
                                    .cost = ssm_scan_cost,
                                    .state_values = ssm_scan_state};

namespace op {

Slot ssm_scan(ProgramBuilder& builder, const SsmScanInputs& inputs, const SsmScanOptions& options) {
  tenon_op op = new_op(TENON_OP_SSM_SCAN);
  op.params.ssm_scan = {state_params(options.state), options.heads, options.groups, options.size};
  return builder.add(op, {inputs.x, inputs.dt, inputs.a, inputs.b, inputs.c, inputs.d});
}

}  // namespace op
}  // namespace tenon
