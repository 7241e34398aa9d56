// What a program becomes on the CPU: a list of phases, each run by all threads and followed by a
// barrier; a phase with nothing to divide is run by the last thread to reach the barrier before it.
// Plain data; phase_builder.cpp makes it, phase_runner.cpp runs it.
//
//   row phase        row-wise operations, row after row: norm and quantisation share one pass;
//                    up to eight rows are nothing to divide
//   linear phase     all linears that read one slot; a block of output columns goes through
//                    everything that can be done column-wise (bias, head norm, rope, cache write,
//                    gate, residual, quantisation) before it leaves the core
//   operation phase  one operation, in items that its entry of the table cuts it into (ops/NAME.cpp):
//                    a tile of tokens and a KV head of an attention, a tile of a state, a row of a
//                    route, whose last row sorts all rows by expert. An operation without an entry
//                    runs in its plain form (plain_phase.h)
//   gather phase     the activations that experts read, in the order of the experts
//   experts phase    an expert and a block of its output columns at a time
//
// A transformer layer is seven phases: norm | q, k, v, rope, cache | attention | output, residual |
// norm | gate, up, activation | down, residual. It has five barriers in a step of up to eight
// rows. With experts, the phases after the second norm are: router | route | gather | gate, up,
// activation | down | sum, residual, next norm.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/common/program_copy.h"
#include "backends/cpu/kernels/kernels.h"
#include "tenon/backend.h"

namespace tenon::cpu {

/// Our own kind of operation: the sum of what the experts of a row gave, ([., u n]) -> [., n]. Of a
/// moe_linear, whose results are written weighted.
inline constexpr uint32_t kOpSumExperts = 0x80000001u;

/// An operation on rows of slots. kv_write is split in its two halves; quantise is ours.
enum class RowKind : uint32_t { Op, WriteKeys, WriteValues, Quantise };

struct CpuOperation;
class OperationTable;

struct RowOp {
  RowKind kind = RowKind::Op;
  tenon_op op{};                        ///< Op, WriteKeys, WriteValues
  const CpuOperation* entry = nullptr;  ///< of `op`; nullptr: its plain form
  uint32_t slot = TENON_NO_SLOT;        ///< Quantise: what; Write*: the source
};

/// One linear and what follows it column by column. With `second`, the results of two weights go
/// through the gated activation.
struct LinearTask {
  uint32_t weight = TENON_NO_SLOT;
  uint32_t second = TENON_NO_SLOT;  ///< weight of the `up` half of a GLU
  uint32_t bias = TENON_NO_SLOT;
  uint32_t second_bias = TENON_NO_SLOT;
  std::vector<RowOp> chain;           ///< in place, in order
  uint32_t store = TENON_NO_SLOT;     ///< slot the result is written to, if anyone reads it
  uint32_t quantise = TENON_NO_SLOT;  ///< slot that the result is, quantised, if any reads it
  uint64_t columns = 0;               ///< of the result
  uint64_t block = 0;                 ///< columns of one work item
  /// Of a linear_heads: each has columns / heads of the result and its own part of the input.
  uint32_t heads = 1;

  [[nodiscard]] uint64_t head_columns() const { return columns / heads; }
};

/// Columns that neighbouring work items of one thread are joined to in a step of the most rows, so
/// that each read of the activations of a long prompt serves several panels.
inline constexpr uint64_t kJoinedColumns = 128;
/// Of the blocks that go through a task at once then.
constexpr uint64_t joined_width(uint64_t block) {
  return block < kJoinedColumns ? kJoinedColumns / block * block : block;
}
constexpr uint64_t max_width(const LinearTask& task) { return joined_width(task.block); }
/// The same in a step of fewer rows, whose results take as much room: few rows read weights as fast
/// as memory gives them, in runs as long as can be. Both counts are of grouped rows.
constexpr uint64_t max_width(const LinearTask& task, uint64_t num_rows, uint64_t max_rows) {
  return max_width(task) * max_rows / num_rows / task.block * task.block;
}

/// A moe_linear. A pair is a row and one of its u chosen experts, number row * u + place among
/// them; results of pairs lie as the slots [., u n] of a program have them. With `second`, the
/// results of two weights go through the gated activation.
struct ExpertTask {
  uint32_t weight = TENON_NO_SLOT;
  uint32_t second = TENON_NO_SLOT;  ///< weight of the `up` half of a GLU
  tenon_glu_params glu{};           ///< of both
  uint32_t bias = TENON_NO_SLOT;    ///< [experts, columns]
  uint32_t second_bias = TENON_NO_SLOT;
  bool weighted = false;           ///< results are multiplied by the route's weight
  uint32_t store = TENON_NO_SLOT;  ///< slot the results are written to, if anyone reads it
  uint32_t keep = kNoGathered;     ///< or the gathered rows that they become
  uint64_t columns = 0;            ///< of the result of one expert
  uint64_t block = 0;              ///< columns of one work item

  static constexpr uint32_t kNoGathered = 0xFFFFFFFFu;
};

/// A moe_route: whose rows are sorted by expert.
struct RouteInfo {
  uint32_t ids = TENON_NO_SLOT;
  uint32_t weights = TENON_NO_SLOT;
  uint32_t experts = 0;
  uint32_t used = 0;
  bool by_scores = false;  ///< chosen by scores, not by logits: takes scratch
};

/// Activations of pairs in the order of their experts, each expert's beginning at a multiple of
/// kRowInterleave rows.
struct GatheredRows {
  uint32_t source = TENON_NO_SLOT;
  uint32_t route = 0;     ///< number among PhasePlan::routes
  uint64_t columns = 0;   ///< of a pair
  bool by_row = false;    ///< all pairs of a row read the same: the source has `columns` columns
  bool weighted = false;  ///< multiplied by the route's weight; is there as f32
  ActivationFormat formats = 0;  ///< a set: those that some expert reads
  bool floats = false;           ///< some expert reads f32
  int32_t first_phase = -1;
  int32_t last_phase = -1;
};

enum class PhaseKind : uint32_t { Rows, Linear, Operation, Gather, Experts };

struct Phase {
  PhaseKind kind = PhaseKind::Rows;
  uint32_t row_class = TENON_ROWS_TOKENS;
  std::vector<RowOp> rows;              ///< Rows
  uint32_t input = TENON_NO_SLOT;       ///< Linear
  std::vector<LinearTask> tasks;        ///< Linear
  tenon_op op{};                        ///< Operation
  const CpuOperation* entry = nullptr;  ///< Operation; nullptr: its plain form
  bool quantise_result = false;         ///< Operation: items quantise what they write
  std::vector<uint16_t> buckets;        ///< attention: AttentionBias::buckets of a relative bias
  uint32_t attention_plan = 0;          ///< attention: which plan of the step cuts it into work
  uint32_t route = 0;               ///< moe_route, Gather, Experts: number among PhasePlan::routes
  uint32_t gathered = 0;            ///< Gather, Experts: number among PhasePlan::gathered
  std::vector<ExpertTask> experts;  ///< Experts

  [[nodiscard]] bool is_plain() const { return kind == PhaseKind::Operation && entry == nullptr; }
};

/// What is known of a slot at compile time.
struct SlotInfo {
  tenon_slot slot{};
  ActivationFormat formats = 0;  ///< a set: those that some linear reads
  bool bound = false;            ///< an input or a result: its f32 memory is the step's
  bool stored = false;           ///< has f32 memory, its own or the step's
  int32_t first_phase = -1;      ///< written
  int32_t last_phase = -1;       ///< last read
  int32_t last_f32_phase = -1;   ///< last read as f32
  /// A slot that is read last, column by column, by what writes this one: both have the f32 memory
  /// of that one.
  uint32_t in_place_of = TENON_NO_SLOT;
};

/// Everything derived from a program.
struct PhasePlan {
  std::vector<SlotInfo> slots;
  std::vector<Phase> phases;
  std::vector<RouteInfo> routes;
  std::vector<GatheredRows> gathered;
  /// The operand of an addition in a task's chain that is not the linear's own result: it has
  /// memory, the own one has none.
  [[nodiscard]] uint32_t other_operand(const tenon_op& addition) const {
    return slots[addition.inputs[0]].stored ? addition.inputs[0] : addition.inputs[1];
  }
};

/// Throws std::bad_alloc only: the program was checked by supports().
PhasePlan build_phases(const backends::ProgramCopy& program, const Kernels& kernels,
                       const OperationTable& operations);

}  // namespace tenon::cpu
