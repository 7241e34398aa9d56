#include <cmath>

#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t position_scale_columns(const OpView& view) {
  const tenon_position_scale_params& scale = view.op.params.position_scale;
  require(std::isfinite(scale.scale), view, "scale is no number");
  require(scale.length > 0, view, "length is 0");
  return columns_of(view, 0);
}

}  // namespace

constexpr OpRule op_table::position_scale{.inputs = "t", .columns = position_scale_columns};

namespace op {

Slot position_scale(ProgramBuilder& builder, Slot x, float scale, uint32_t length,
                    uint32_t offset) {
  tenon_op op = new_op(TENON_OP_POSITION_SCALE);
  op.params.position_scale = {scale, length, offset};
  return builder.add(op, {x});
}

}  // namespace op
}  // namespace tenon
