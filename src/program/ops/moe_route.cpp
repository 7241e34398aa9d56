#include <cmath>

#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

/// Expert groups: of equal size, and enough of them used for the chosen experts.
void require_expert_groups(const OpView& view, uint64_t experts) {
  const tenon_moe_route_params& route = view.op.params.moe_route;
  if (route.groups <= 1) return;
  require(experts % route.groups == 0, view,
          fmt::format("{} experts are not {} equal groups", experts, route.groups));
  require(route.groups_used >= 1 && route.groups_used <= route.groups, view,
          fmt::format("{} of {} groups are used", route.groups_used, route.groups));
  require(route.used <= experts / route.groups * route.groups_used, view,
          fmt::format("{} groups of {} do not hold {} experts", route.groups_used,
                      experts / route.groups, route.used));
}

/// SPARSE_MIXER: logits alone choose, and weights are not normalised.
void require_sparse_mixer(const OpView& view) {
  const tenon_moe_route_params& route = view.op.params.moe_route;
  require(route.normalise == 0 && route.groups <= 1 && view.inputs[1] == nullptr, view,
          "SPARSE_MIXER with normalise, groups or a selection bias");
  require(std::isfinite(route.closeness) && route.closeness >= 0, view,
          "closeness is negative or no number");
}

/// Columns: a number and a weight per chosen expert.
uint64_t moe_route_columns(const OpView& view) {
  const tenon_moe_route_params& route = view.op.params.moe_route;
  const uint64_t experts = columns_of(view, 0);
  require(experts <= kMaxExperts, view,
          fmt::format("{} experts, at most {}", experts, kMaxExperts));
  require(route.used >= 1 && route.used <= experts, view,
          fmt::format("{} of {} experts are used", route.used, experts));
  require(route.scoring <= TENON_MOE_SQRT_SOFTPLUS, view, "unknown scoring");
  if (route.scoring == TENON_MOE_SPARSE_MIXER) require_sparse_mixer(view);
  require(std::isfinite(route.scale), view, "scale is no number");
  require(route.normalise <= (route.scoring == TENON_MOE_SOFTMAX_CHOSEN ? 0u : 1u), view,
          "normalise is neither 0 nor 1, or SOFTMAX_CHOSEN has it");
  require(std::isfinite(route.min_sum) && route.min_sum >= 0, view,
          "min_sum is negative or no number");
  require_expert_groups(view, experts);
  require_vector(view, 1, experts);
  require_vector(view, 2, experts);
  require_columns(view, 3, route.used);
  require(view.inputs[3] == nullptr || (view.inputs[1] == nullptr && route.groups <= 1 &&
                                        route.scoring != TENON_MOE_SPARSE_MIXER),
          view, "numbers with SPARSE_MIXER, groups or a selection bias");
  return route.used;
}

void connect_moe_route(const OpView& view, ProgramFacts& facts) {
  facts.routes[view.op.outputs[0]] = {columns_of(view, 0), view.op.outputs[1]};
}

}  // namespace

constexpr OpRule op_table::moe_route{.inputs = "xwwy",
                                     .outputs = "ix",
                                     .rows = RowRule::LikeInput,
                                     .columns = moe_route_columns,
                                     .connect = connect_moe_route};

namespace op {

Route moe_route(ProgramBuilder& builder, Slot logits, const RouteOptions& options) {
  tenon_op op = new_op(TENON_OP_MOE_ROUTE);
  tenon_moe_route_params& route = op.params.moe_route;
  route.used = options.used;
  route.scoring = options.scoring;
  route.scale = options.scale;
  route.normalise = options.normalise ? 1 : 0;
  route.min_sum = options.min_sum;
  route.groups = options.groups;
  route.groups_used = options.groups_used;
  route.closeness = options.closeness;
  const ProgramBuilder::Outputs outputs =
      builder.append(op, {logits, options.selection_bias, options.expert_scale, options.numbers});
  return {outputs[0], outputs[1]};
}

}  // namespace op
}  // namespace tenon
