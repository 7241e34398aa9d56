// The closed set of operations as data: name, inputs, rows and shape rule of each. What an
// operation computes is said in tenon/backend.h and done by backends.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "program/strided.h"
#include "tenon/backend.h"

namespace tenon {

/// Of a route: their numbers are exact as floats.
inline constexpr uint64_t kMaxExperts = 65536;

/// How many rows the output of an operation has.
enum class RowRule { Tokens, Outputs, LikeInput, NoOutput };

/// An operation with its slots looked up.
struct OpView {
  const tenon_op& op;
  uint32_t index;                           ///< its number in the program, for messages
  std::array<const tenon_slot*, 5> inputs;  ///< nullptr: absent
  Strided<tenon_kv_group> groups;
};

/// One line of the table of operations.
struct OpInfo {
  uint32_t kind;  ///< TENON_OP_*
  const char* name;
  /// One letter per input: x activation (all x of an operation have the same rows), t activation of
  /// T rows, W weight, w weight that may be absent, C constant.
  const char* inputs;
  RowRule rows;
  /// Checks columns and parameters; gives the columns of the output, 0 where there is none. Inputs
  /// have been checked against `inputs` before.
  uint64_t (*columns)(const OpView& view);
};

/// All operations, in the order of their numbers.
std::span<const OpInfo> all_ops() noexcept;

/// The operation of this kind; nullptr when there is none.
const OpInfo* find_op(uint32_t kind) noexcept;

/// What an operation makes: rows (TENON_ROWS_*, 0 without an output) and columns.
struct OpShape {
  uint32_t row_class = 0;
  uint64_t columns = 0;
};

/// Checks an operation's inputs and parameters and gives the shape of its output. Throws
/// Error(Internal) that names the operation by number and kind.
OpShape check_op(const OpView& view);

/// "operation 12 (linear)", for messages.
std::string op_label(uint32_t index, uint32_t kind);

}  // namespace tenon
