#include <cmath>

#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t glu_columns(const OpView& view) {
  const tenon_glu_params& glu = view.op.params.glu;
  require(glu.activation <= TENON_ACTIVATION_RELU, view, "unknown activation");
  require(columns_of(view, 0) == columns_of(view, 1), view, "gate and up differ in columns");
  require(std::isfinite(glu.alpha), view, "alpha is no number");
  require(glu.alpha == 0 || glu.alpha == 1 || glu.activation == TENON_ACTIVATION_SILU, view,
          "only SILU has an alpha");
  require(std::isfinite(glu.limit) && glu.limit >= 0, view, "limit is negative or no number");
  require(std::isfinite(glu.up_offset), view, "up_offset is no number");
  require(glu.limit_after <= 1, view, "limit_after is neither 0 nor 1");
  return columns_of(view, 0);
}

}  // namespace

constexpr OpRule op_table::glu{.inputs = "xx", .rows = RowRule::LikeInput, .columns = glu_columns};

namespace op {

Slot glu(ProgramBuilder& builder, uint32_t activation, Slot gate, Slot up) {
  return glu(builder, GluOptions{.activation = activation}, gate, up);
}

Slot glu(ProgramBuilder& builder, const GluOptions& options, Slot gate, Slot up) {
  tenon_op op = new_op(TENON_OP_GLU);
  op.params.glu = {options.activation, options.alpha, options.limit, options.up_offset,
                   options.limit_after ? 1u : 0u};
  return builder.add(op, {gate, up});
}

}  // namespace op
}  // namespace tenon
