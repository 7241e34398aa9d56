#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t add_columns(const OpView& view) {
  require(columns_of(view, 0) == columns_of(view, 1), view, "the two inputs differ in columns");
  require_one_row(view, 1);
  return columns_of(view, 0);
}

}  // namespace

constexpr OpRule op_table::add{.inputs = "xv", .rows = RowRule::LikeInput, .columns = add_columns};

namespace op {

Slot add(ProgramBuilder& builder, Slot x, Slot y) {
  return builder.add(new_op(TENON_OP_ADD), {x, y});
}

}  // namespace op
}  // namespace tenon
