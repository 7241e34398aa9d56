#include <cmath>

#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t delta_rule_state(const OpView& view) {
  return columns_of(view, 0) / view.op.params.delta_rule.key_heads * columns_of(view, 2);
}

uint64_t delta_rule_columns(const OpView& view) {
  const tenon_delta_rule_params& rule = view.op.params.delta_rule;
  const uint64_t key_dim = head_columns(view, 0, rule.key_heads);
  head_columns(view, 2, rule.value_heads);
  require(rule.value_heads % rule.key_heads == 0, view,
          fmt::format("{} value heads do not share {} key heads evenly", rule.value_heads,
                      rule.key_heads));
  require_columns(view, 1, columns_of(view, 0));
  const uint64_t decays = columns_of(view, 3);
  require(decays == rule.value_heads || decays == rule.value_heads * key_dim, view,
          fmt::format("{} decays for {} heads of {} keys", decays, rule.value_heads, key_dim));
  require_columns(view, 4, rule.value_heads);
  require(rule.interleaved <= 1, view, "interleaved is neither 0 nor 1");
  require(std::isfinite(rule.scale), view, "scale is no number");
  require_state(view, delta_rule_state(view));
  return columns_of(view, 2);
}

/// Like ssm_scan, plus a term of the product with the key.
OpCost delta_rule_cost(const OpView& view) {
  return {.state_multiplications = 4 * delta_rule_state(view)};
}

}  // namespace

constexpr OpRule op_table::delta_rule{.inputs = "ttttt",
                                      .columns = delta_rule_columns,
                                      .cost = delta_rule_cost,
                                      .state_values = delta_rule_state};

namespace op {

Slot delta_rule(ProgramBuilder& builder, const DeltaRuleInputs& inputs,
                const DeltaRuleOptions& options) {
  tenon_op op = new_op(TENON_OP_DELTA_RULE);
  op.params.delta_rule = {state_params(options.state), options.key_heads, options.value_heads,
                          options.interleaved ? 1u : 0u, options.scale};
  return builder.add(op, {inputs.q, inputs.k, inputs.v, inputs.decay, inputs.beta});
}

}  // namespace op
}  // namespace tenon
