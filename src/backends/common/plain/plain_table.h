// The operations of a backend as a table: what each needs of its slots, and the function that runs it.
#pragma once

#include <cstdint>
#include <span>

#include "backends/common/plain/plain_shape.h"

namespace tenon::plain {

template <typename Math>
class StepRun;

/// One line of the table. `Math` is what a backend computes with:
///   using Real = ...;  // of activations, and of all that is computed with them: double or float
/// and whatever its own operations need; StepRun::math() has it.
template <typename Math>
struct Operation {
  uint32_t kind;  ///< TENON_OP_*
  const char* name;
  /// Whether `run` can do it: kinds, types, rows and columns of the slots, and the parameters.
  bool (*fits)(const OpShape& shape) noexcept;
  /// Computes the output for all rows of the step. Throws Failure.
  void (*run)(StepRun<Math>& step, const tenon_op& op);
};

/// What a backend does in a way of its own, before what it does in the plain way.
template <typename Math>
struct OperationTable {
  std::span<const Operation<Math>> own;
  std::span<const Operation<Math>> plain;

  /// The operation of this kind; nullptr when there is none.
  [[nodiscard]] const Operation<Math>* find(uint32_t kind) const noexcept {
    for (const auto operations : {own, plain}) {
      for (const Operation<Math>& operation : operations) {
        if (operation.kind == kind) return &operation;
      }
    }
    return nullptr;
  }

  /// Whether operation `op` of the program can be run.
  [[nodiscard]] bool fits(const tenon_program& program, uint32_t op) const noexcept {
    const auto shape = find_shape(program, op);
    if (!shape) return false;
    const Operation<Math>* operation = find(shape->op->kind);
    return operation != nullptr && operation->fits(*shape);
  }
};

}  // namespace tenon::plain
