// Rules and builder shared by the norms.
#pragma once

#include <cmath>
#include <initializer_list>

#include "program/op_rules.h"
#include "program/program.h"

namespace tenon::op_rules {

inline uint64_t norm_columns(const OpView& view) {
  const tenon_norm_params& norm = view.op.params.norm;
  const uint64_t columns = columns_of(view, 0);
  require_segments(view, 0, norm.segment);
  require(std::isfinite(norm.epsilon) && norm.epsilon >= 0, view,
          "epsilon is negative or no number");
  require_vector(view, 1, norm.segment);
  require_vector(view, 2, norm.segment);
  return columns;
}

/// segment 0 means the whole row.
inline Slot add_norm(ProgramBuilder& builder, uint32_t kind, std::initializer_list<Slot> inputs,
                     float epsilon, uint32_t segment) {
  tenon_op op = new_op(kind);
  const auto row = static_cast<uint32_t>(builder.columns(*inputs.begin()));
  op.params.norm = {epsilon, segment == 0 ? row : segment};
  return builder.add(op, inputs);
}

}  // namespace tenon::op_rules
