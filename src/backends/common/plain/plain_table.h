// A backend's table of operations: requirements on the slots and the function that runs each.
#pragma once

#include <cstdint>
#include <span>

#include "backends/common/plain/plain_shape.h"

namespace tenon::plain {

template <typename Math>
class StepRun;

/// A row of the table. `Math` is the backend's arithmetic, available through StepRun::math():
///   using Real = ...;  // type of activations and of all arithmetic on them: double or float
/// `Math` may have further members for the backend's own operations.
template <typename Math>
struct Operation {
  uint32_t kind;  ///< TENON_OP_*
  const char* name;
  /// True if `run` supports the kinds, types, rows and columns of the slots and the parameters.
  bool (*fits)(const OpShape& shape) noexcept;
  /// Computes the output for all rows of the step. Throws Failure.
  void (*run)(StepRun<Math>& step, const tenon_op& op);
};

/// A backend's own operations, searched first, and the plain ones.
template <typename Math>
struct OperationTable {
  std::span<const Operation<Math>> own;
  std::span<const Operation<Math>> plain;

  /// The operation of this kind; null if unknown.
  [[nodiscard]] const Operation<Math>* find(uint32_t kind) const noexcept {
    for (const auto operations : {own, plain}) {
      for (const Operation<Math>& operation : operations) {
        if (operation.kind == kind) return &operation;
      }
    }
    return nullptr;
  }

  /// True if operation `op` of the program can run.
  [[nodiscard]] bool fits(const tenon_program& program, uint32_t op) const noexcept {
    const auto shape = find_shape(program, op);
    if (!shape) return false;
    const Operation<Math>* operation = find(shape->op->kind);
    return operation != nullptr && operation->fits(*shape);
  }
};

}  // namespace tenon::plain
