#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t linear_columns(const OpView& view) {
  const tenon_slot& weight = *view.inputs[1];
  require(columns_of(view, 0) == weight.columns, view,
          fmt::format("\"{}\" has {} columns, its input has {}", weight.name, weight.columns,
                      columns_of(view, 0)));
  require_vector(view, 2, weight.rows);
  return weight.rows;
}

}  // namespace

constexpr OpRule op_table::linear{
    .inputs = "xWw", .rows = RowRule::LikeInput, .columns = linear_columns, .cost = linear_cost};

namespace op {

Slot linear(ProgramBuilder& builder, Slot x, Slot weight, Slot bias) {
  return builder.adapted(x, weight, builder.add(new_op(TENON_OP_LINEAR), {x, weight, bias}));
}

}  // namespace op
}  // namespace tenon
