#include <cmath>

#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t activate_columns(const OpView& view) {
  const tenon_activate_params& activate = view.op.params.activate;
  require(activate.activation <= TENON_ACTIVATION_SIGNED_ROOT, view, "unknown activation");
  const bool numbers = std::isfinite(activate.alpha_p) && std::isfinite(activate.alpha_n) &&
                       std::isfinite(activate.beta) && std::isfinite(activate.epsilon);
  require(activate.activation != TENON_ACTIVATION_XIELU || numbers, view,
          "a parameter of XIELU is no number");
  require(activate.activation != TENON_ACTIVATION_SIGNED_ROOT ||
              (std::isfinite(activate.epsilon) && activate.epsilon >= 0),
          view, "epsilon is negative or no number");
  return columns_of(view, 0);
}

}  // namespace

constexpr OpRule op_table::activate{
    .inputs = "x", .rows = RowRule::LikeInput, .columns = activate_columns};

namespace op {

Slot activate(ProgramBuilder& builder, uint32_t activation, Slot x) {
  tenon_op op = new_op(TENON_OP_ACTIVATE);
  op.params.activate.activation = activation;
  return builder.add(op, {x});
}

Slot xielu(ProgramBuilder& builder, const XieluOptions& options, Slot x) {
  tenon_op op = new_op(TENON_OP_ACTIVATE);
  op.params.activate = {TENON_ACTIVATION_XIELU, options.alpha_p, options.alpha_n, options.beta,
                        options.epsilon};
  return builder.add(op, {x});
}

Slot signed_root(ProgramBuilder& builder, Slot x, float epsilon) {
  tenon_op op = new_op(TENON_OP_ACTIVATE);
  op.params.activate.activation = TENON_ACTIVATION_SIGNED_ROOT;
  op.params.activate.epsilon = epsilon;
  return builder.add(op, {x});
}

}  // namespace op
}  // namespace tenon
