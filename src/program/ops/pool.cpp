#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t pool_columns(const OpView& view) {
  require(view.op.params.pool.kind <= TENON_POOL_LAST, view, "unknown kind");
  return columns_of(view, 0);
}

}  // namespace

constexpr OpRule op_table::pool{.inputs = "t", .rows = RowRule::Sequences, .columns = pool_columns};

namespace op {

Slot pool(ProgramBuilder& builder, Slot x, uint32_t kind) {
  tenon_op op = new_op(TENON_OP_POOL);
  op.params.pool = {kind};
  return builder.add(op, {x});
}

}  // namespace op
}  // namespace tenon
