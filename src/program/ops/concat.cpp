#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t concat_columns(const OpView& view) {
  const tenon_concat_params& concat = view.op.params.concat;
  require(concat.broadcast <= 1, view, "broadcast is neither 0 nor 1");
  for (const uint32_t input : {0u, 1u}) {
    if (input == 1 && concat.broadcast == 1) continue;
    require(concat.segments > 0 && columns_of(view, input) % concat.segments == 0, view,
            fmt::format("{} columns are not {} whole segments", columns_of(view, input),
                        concat.segments));
  }
  const uint64_t times = concat.broadcast == 1 ? concat.segments : 1;
  return columns_of(view, 0) + times * columns_of(view, 1);
}

Slot add_concat(ProgramBuilder& builder, Slot x, Slot y, const tenon_concat_params& params) {
  tenon_op op = new_op(TENON_OP_CONCAT);
  op.params.concat = params;
  return builder.add(op, {x, y});
}

}  // namespace

constexpr OpRule op_table::concat{
    .inputs = "xx", .rows = RowRule::LikeInput, .columns = concat_columns};

namespace op {

Slot concat(ProgramBuilder& builder, Slot x, Slot y, uint32_t segments) {
  return add_concat(builder, x, y, {segments, 0});
}

Slot concat_to_each(ProgramBuilder& builder, Slot x, Slot y, uint32_t segments) {
  return add_concat(builder, x, y, {segments, 1});
}

}  // namespace op
}  // namespace tenon
