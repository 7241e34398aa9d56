// The closed set of operations as data: name, inputs, rows, shape rule and cost of each.
// tenon/backend.h defines the arithmetic; backends implement it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "abi/operation_list.h"
#include "abi/strided.h"
#include "tenon/backend.h"

namespace tenon {

/// Most experts of a route (tenon/backend.h, tenon_moe_route_params).
inline constexpr uint64_t kMaxExperts = 65536;

/// Most buckets of a relative bias, and its largest max_distance.
inline constexpr uint64_t kMaxBuckets = 65536;
inline constexpr uint32_t kMaxBiasDistance = 1u << 20;

/// Most positions chosen by a select.
inline constexpr uint32_t kMaxSelected = 1u << 16;
/// Most positions in the blocks that all heads of a select_blocks choose together.
inline constexpr uint64_t kMaxSelectedInBlocks = 1u << 20;

/// Row count of an operation's outputs.
enum class RowRule { Tokens, Outputs, Sequences, LikeInput };

/// An operation with its slots resolved.
struct OpView {
  const tenon_op& op;
  uint32_t index;                                          ///< in the program, for messages
  std::array<const tenon_slot*, TENON_MAX_INPUTS> inputs;  ///< null if absent
  Strided<tenon_cache_group> groups;
  uint32_t position_parts = 1;  ///< parts per position in the program
};

/// An output of an operation: [rows of a row class, columns] of a type.
struct OpOutput {
  uint32_t row_class = 0;  ///< TENON_ROWS_*
  uint32_t type = TENON_TYPE_F32;
  uint64_t columns = 0;
};
struct OpOutputs {
  uint32_t count = 0;
  std::array<OpOutput, TENON_MAX_OUTPUTS> list{};
};

/// Multiply-accumulates with cached rows of a token's own sequence.
struct SeenCost {
  uint64_t multiplications = 0;  ///< per row
  uint64_t most = 0;             ///< most rows, the last or chosen ones; 0 means all
  uint32_t stride = 1;           ///< positions per row
};

/// Cost of a row of an operation in matrix products; other arithmetic is not counted.
struct OpCost {
  uint64_t multiplications = 0;        ///< with weights
  uint64_t weight_bytes = 0;           ///< in the weights' formats, read by a step of one row
  std::array<SeenCost, 2> seen{};      ///< with cached rows: of positions, and compressed
  uint64_t state_multiplications = 0;  ///< with the state of its sequence
};

/// Properties of a selection, for operations that read the selected rows.
struct SelectionFact {
  uint32_t parts;
  uint32_t block;  ///< positions per number
  bool rest;       ///< includes positions after the last whole block
  bool of_select;  ///< made by a select, not by select_blocks
};
/// Blocks of rows chosen by a select_candidates.
struct CandidatesFact {
  uint32_t stride;
  uint32_t block;  ///< rows
  bool operator==(const CandidatesFact&) const = default;
};
struct RouteFact {
  uint64_t experts;
  uint32_t weights;  ///< slot
};

/// Facts about earlier operations that later operations check, by slot.
struct ProgramFacts {
  uint32_t token_history = 0;  ///< tokens before a sequence that steps provide
  std::map<uint32_t, SelectionFact> selections{};
  std::map<uint32_t, CandidatesFact> candidates{};
  std::map<uint32_t, RouteFact> routes{};  ///< by slot of the ids
};

/// Rules and cost of an operation; program/ops/NAME.cpp defines them.
struct OpRule {
  /// One letter per input: x activation (all activations of an operation have equal rows), y
  /// activation that may be absent, t activation of T rows, i i32 activation, s i32 activation of T
  /// rows that may be absent, v activation or weight, W weight, w weight that may be absent, C
  /// constant, c constant that may be absent, b weight or constant that may be absent.
  const char* inputs;
  /// One letter per output: x f32 activation, i i32 activation.
  const char* outputs = "x";
  RowRule rows = RowRule::Tokens;
  /// Checks columns and parameters and returns the columns of the outputs, 0 without outputs. Runs
  /// after the inputs were checked against `inputs`.
  uint64_t (*columns)(const OpView& view);
  OpCost (*cost)(const OpView& view) = nullptr;  ///< null: no cost
  /// Values kept per sequence in a STATE group, located by op.params.state; null if none.
  uint64_t (*state_values)(const OpView& view) = nullptr;
  /// Checks the operation against earlier ones and notes facts for later ones; null if none.
  void (*connect)(const OpView& view, ProgramFacts& facts) = nullptr;
};

/// A row of the operation table (abi/operation_list.h).
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

/// The operation of this kind; null if unknown.
const OpInfo* find_op(uint32_t kind) noexcept;

/// Checks an operation's inputs and parameters and returns its output shapes. Throws
/// Error(Internal) that names the operation by number and kind.
OpOutputs check_op(const OpView& view);

/// Operation `index` of a verified program.
OpView op_view(const tenon_program& program, uint32_t index);
OpCost op_cost(const OpView& view);

/// "operation 12 (linear)", for messages.
std::string op_label(uint32_t index, uint32_t kind);

}  // namespace tenon
