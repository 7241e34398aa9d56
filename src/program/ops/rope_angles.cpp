#include <cmath>

#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

/// Refuses unless each frequency takes a part that positions have.
void require_position_parts(const OpView& view, uint64_t num_frequencies) {
  const tenon_slot* parts = view.inputs[1];
  if (parts == nullptr) return;
  require(parts->rows == 1 && parts->columns == num_frequencies && parts->type == TENON_TYPE_F64,
          view, fmt::format("the parts are not [1, {}] f64", num_frequencies));
  const auto* values = static_cast<const double*>(parts->data);
  for (uint64_t i = 0; i < num_frequencies; ++i) {
    const bool exists =
        values[i] >= 0 && values[i] < view.position_parts && values[i] == std::floor(values[i]);
    require(exists, view,
            fmt::format("part {} of positions of {}", values[i], view.position_parts));
  }
}

uint64_t rope_angles_columns(const OpView& view) {
  const tenon_slot& frequencies = *view.inputs[0];
  require(frequencies.rows == 1 && frequencies.type == TENON_TYPE_F64, view,
          "the frequencies are not [1, p] f64");
  require(std::isfinite(view.op.params.rope_angles.magnitude), view, "magnitude is no number");
  require_position_parts(view, frequencies.columns);
  return 2 * frequencies.columns;
}

}  // namespace

constexpr OpRule op_table::rope_angles{.inputs = "Cc", .columns = rope_angles_columns};

namespace op {

Slot rope_angles(ProgramBuilder& builder, Slot frequencies, float magnitude, Slot parts,
                 int32_t offset) {
  tenon_op op = new_op(TENON_OP_ROPE_ANGLES);
  op.params.rope_angles = {magnitude, offset};
  return builder.add(op, {frequencies, parts});
}

}  // namespace op
}  // namespace tenon
