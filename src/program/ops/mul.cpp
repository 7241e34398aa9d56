#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t mul_columns(const OpView& view) {
  require_pieces(view, 1);
  require_one_row(view, 1);
  return columns_of(view, 0);
}

}  // namespace

constexpr OpRule op_table::mul{.inputs = "xv", .rows = RowRule::LikeInput, .columns = mul_columns};

namespace op {

Slot mul(ProgramBuilder& builder, Slot x, Slot y) {
  return builder.add(new_op(TENON_OP_MUL), {x, y});
}

}  // namespace op
}  // namespace tenon
