// The closed set of operations as data: name, inputs, rows, shape rule and cost of each. What an
// operation computes is said in tenon/backend.h and done by backends.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "backends/common/operation_list.h"
#include "backends/common/strided.h"
#include "tenon/backend.h"

namespace tenon {

/// Of a route (tenon/backend.h, tenon_moe_route_params).
inline constexpr uint64_t kMaxExperts = 65536;

/// Of a relative bias: its buckets, and the distance from which on all share the last.
inline constexpr uint64_t kMaxBuckets = 65536;
inline constexpr uint32_t kMaxBiasDistance = 1u << 20;

/// Positions that a select chooses.
inline constexpr uint32_t kMaxSelected = 1u << 16;
/// Positions in the blocks that all heads of a select_blocks choose together.
inline constexpr uint64_t kMaxSelectedInBlocks = 1u << 20;

/// How many rows the outputs of an operation have.
enum class RowRule { Tokens, Outputs, Sequences, LikeInput };

/// An operation with its slots looked up.
struct OpView {
  const tenon_op& op;
  uint32_t index;                                          ///< its number, for messages
  std::array<const tenon_slot*, TENON_MAX_INPUTS> inputs;  ///< nullptr: absent
  Strided<tenon_cache_group> groups;
  uint32_t position_parts = 1;  ///< of the program
};

/// What an operation makes: [rows of a row class, columns] of a type.
struct OpOutput {
  uint32_t row_class = 0;  ///< TENON_ROWS_*
  uint32_t type = TENON_TYPE_F32;
  uint64_t columns = 0;
};
struct OpOutputs {
  uint32_t count = 0;
  std::array<OpOutput, TENON_MAX_OUTPUTS> list{};
};

/// Multiply-accumulates with rows that the cache has of a token's own sequence.
struct SeenCost {
  uint64_t multiplications = 0;  ///< with each of them
  uint64_t most = 0;             ///< rows: the last ones, or chosen ones; 0: all
  uint32_t stride = 1;           ///< positions that a row stands for
};

/// What a row of an operation costs in matrix products; other arithmetic is not counted.
struct OpCost {
  uint64_t multiplications = 0;        ///< with weights
  uint64_t weight_bytes = 0;           ///< of the formats given, that a step of one row reads
  std::array<SeenCost, 2> seen{};      ///< with rows of the cache: of positions, and of pools
  uint64_t state_multiplications = 0;  ///< with the state of its sequence
};

/// A selection that some operation made, for those that look at what it names.
struct SelectionFact {
  uint32_t parts;
  uint32_t block;  ///< positions of a number
  bool rest;       ///< and those after the last whole block
  bool of_select;  ///< not of select_blocks
};
/// Blocks of rows that a select_candidates chose.
struct CandidatesFact {
  uint32_t stride;
  uint32_t block;  ///< rows
  bool operator==(const CandidatesFact&) const = default;
};
struct RouteFact {
  uint64_t experts;
  uint32_t weights;  ///< slot
};

/// What the operations so far have made, for those that are connected with them. By slot.
struct ProgramFacts {
  uint32_t token_history = 0;  ///< of the program
  std::map<uint32_t, SelectionFact> selections{};
  std::map<uint32_t, CandidatesFact> candidates{};
  std::map<uint32_t, RouteFact> routes{};  ///< by the slot of the ids
};

/// What an operation asks and costs; program/ops/NAME.cpp defines it.
struct OpRule {
  /// One letter per input: x activation (all activations of an operation have the same rows), y one
  /// that may be absent, t activation of T rows, i activation of i32, s one of i32 and T rows that
  /// may be absent, v activation or weight, W weight, w weight that may be absent, C constant, c
  /// constant that may be absent, b weight or constant that may be absent.
  const char* inputs;
  /// One letter per output: x activation of f32, i of i32.
  const char* outputs = "x";
  RowRule rows = RowRule::Tokens;
  /// Checks columns and parameters; gives the columns of the outputs, 0 where there are none. Inputs
  /// have been checked against `inputs` before.
  uint64_t (*columns)(const OpView& view);
  OpCost (*cost)(const OpView& view) = nullptr;  ///< nullptr: none
  /// Values that it keeps of each sequence in a STATE group, where op.params.state says; nullptr:
  /// none.
  uint64_t (*state_values)(const OpView& view) = nullptr;
  /// Checks it against the operations before it, and notes what later ones check; nullptr: nothing.
  void (*connect)(const OpView& view, ProgramFacts& facts) = nullptr;
};

/// A line of the table of operations (backends/common/operation_list.h).
struct OpInfo {
  uint32_t kind;  ///< TENON_OP_*
  const char* name;
  backends::CacheUse cache;
  const OpRule& rule;
};

namespace op_table {
#define TENON_RULE(KIND, name, cache) extern const OpRule name;
TENON_OPERATIONS(TENON_RULE)
#undef TENON_RULE
}  // namespace op_table

/// All operations, in the order of their numbers.
std::span<const OpInfo> all_ops() noexcept;

/// The operation of this kind; nullptr when there is none.
const OpInfo* find_op(uint32_t kind) noexcept;

/// Checks an operation's inputs and parameters and gives the shapes of its outputs. Throws
/// Error(Internal) that names the operation by number and kind.
OpOutputs check_op(const OpView& view);

/// The operation `index` of a program that was verified.
OpView op_view(const tenon_program& program, uint32_t index);
OpCost op_cost(const OpView& view);

/// "operation 12 (linear)", for messages.
std::string op_label(uint32_t index, uint32_t kind);

}  // namespace tenon
