#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t sigmoid_gate_columns(const OpView& view) {
  require_pieces(view, 1);
  return columns_of(view, 0);
}

}  // namespace

constexpr OpRule op_table::sigmoid_gate{
    .inputs = "xx", .rows = RowRule::LikeInput, .columns = sigmoid_gate_columns};

namespace op {

Slot sigmoid_gate(ProgramBuilder& builder, Slot x, Slot gate) {
  return builder.add(new_op(TENON_OP_SIGMOID_GATE), {x, gate});
}

}  // namespace op
}  // namespace tenon
