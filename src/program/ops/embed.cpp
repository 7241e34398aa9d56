#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t embed_columns(const OpView& view) {
  require(view.op.params.embed.source <= TENON_EMBED_POSITIONS, view, "unknown source");
  return columns_of(view, 0);
}

}  // namespace

constexpr OpRule op_table::embed{.inputs = "W", .columns = embed_columns};

namespace op {

Slot embed(ProgramBuilder& builder, Slot table, uint32_t source) {
  tenon_op op = new_op(TENON_OP_EMBED);
  op.params.embed = {source};
  return builder.add(op, {table});
}

}  // namespace op
}  // namespace tenon
