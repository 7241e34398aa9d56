#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t moe_linear_columns(const OpView& view) {
  const tenon_moe_linear_params& moe = view.op.params.moe_linear;
  const tenon_slot& weight = *view.inputs[2];
  const uint64_t used = columns_of(view, 1);
  require(moe.experts >= 1 && moe.experts <= kMaxExperts && weight.rows % moe.experts == 0, view,
          fmt::format("\"{}\" has {} rows, which {} experts do not share evenly", weight.name,
                      weight.rows, moe.experts));
  require(moe.sum <= 1, view, "sum is neither 0 nor 1");
  require(moe.weigh <= TENON_MOE_WEIGHT_INPUTS, view, "weigh is neither 0 nor 1");
  require(moe.first_is_zero <= 1, view, "first_is_zero is neither 0 nor 1");
  const bool weighted = view.inputs[3] != nullptr;
  require(weighted || moe.weigh == TENON_MOE_WEIGHT_OUTPUTS, view, "no weights for the inputs");
  require(used <= moe.experts, view,
          fmt::format("{} columns are no routes to {} experts", used, moe.experts));
  require(!weighted || columns_of(view, 3) == used, view,
          fmt::format("{} weights for {} experts", weighted ? columns_of(view, 3) : 0, used));
  const uint64_t columns = columns_of(view, 0);
  require(columns == weight.columns || columns == used * weight.columns, view,
          fmt::format("\"{}\" has {} columns, its input has {}, not 1 or {} times as many",
                      weight.name, weight.columns, columns, used));
  const uint64_t rows = weight.rows / moe.experts;
  const tenon_slot* bias = view.inputs[4];
  require(bias == nullptr || (bias->rows == moe.experts && bias->columns == rows), view,
          fmt::format("the bias is not [{}, {}]", moe.experts, rows));
  return moe.sum == 1 ? rows : used * rows;
}

/// Counts only the experts that one token uses.
OpCost moe_linear_cost(const OpView& view) {
  const tenon_slot& weight = *view.inputs[2];
  return matrix_cost(weight, weight.rows / view.op.params.moe_linear.experts * columns_of(view, 1));
}

/// The expert numbers and weights come from one moe_route with equal experts.
void connect_moe_linear(const OpView& view, ProgramFacts& facts) {
  const tenon_op& op = view.op;
  const auto found = facts.routes.find(op.inputs[1]);
  require(found != facts.routes.end(), view,
          fmt::format("\"{}\" is no result of moe_route", view.inputs[1]->name));
  const RouteFact& route = found->second;
  if (view.inputs[3] != nullptr && op.inputs[3] != route.weights) {
    refuse(view, fmt::format("\"{}\" are not the weights that belong to \"{}\"",
                             view.inputs[3]->name, view.inputs[1]->name));
  }
  require(route.experts == op.params.moe_linear.experts, view,
          fmt::format("{} experts, but \"{}\" is a route to {}", op.params.moe_linear.experts,
                      view.inputs[1]->name, route.experts));
}

}  // namespace

constexpr OpRule op_table::moe_linear{.inputs = "xiWyw",
                                      .rows = RowRule::LikeInput,
                                      .columns = moe_linear_columns,
                                      .cost = moe_linear_cost,
                                      .connect = connect_moe_linear};

namespace op {

Slot moe_linear(ProgramBuilder& builder, Slot x, const Route& route, Slot weight,
                const MoeLinearOptions& options) {
  tenon_op op = new_op(TENON_OP_MOE_LINEAR);
  const bool inputs = options.weights == ExpertWeights::Inputs;
  op.params.moe_linear = {options.experts, options.sum ? 1u : 0u,
                          inputs ? TENON_MOE_WEIGHT_INPUTS : TENON_MOE_WEIGHT_OUTPUTS,
                          options.first_is_zero ? 1u : 0u};
  const Slot weights = options.weights == ExpertWeights::None ? kNoSlot : route.weights;
  return builder.add(op, {x, route.ids, weight, weights, options.bias});
}

Slot moe_linear(ProgramBuilder& builder, Slot x, const Route& route, Slot weight,
                uint32_t experts) {
  return moe_linear(builder, x, route, weight, MoeLinearOptions{.experts = experts});
}

Slot moe_linear_sum(ProgramBuilder& builder, Slot x, const Route& route, Slot weight,
                    uint32_t experts) {
  return moe_linear(builder, x, route, weight,
                    {.experts = experts, .sum = true, .weights = ExpertWeights::Outputs});
}

}  // namespace op
}  // namespace tenon
