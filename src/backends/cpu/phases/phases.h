// A program compiled for the CPU: a list of phases, each run by all threads and followed by a
// barrier. The last thread to reach a barrier runs a following phase that has nothing to divide.
// Plain data; phase_builder.cpp makes it, phase_runner.cpp runs it.
//
//   row phase        row-wise operations, row by row: norm and quantisation share one pass;
//                    up to eight rows are not divided
//   linear phase     all linears that read one slot; a block of output columns passes through
//                    all column-wise operations (bias, head norm, rope, cache write, gate,
//                    residual, quantisation) before it leaves the core
//   operation phase  one operation, divided into items by its table entry (ops/NAME.cpp): a tile
//                    of tokens and a KV head of an attention, a tile of a state, a row of a
//                    route, whose last row sorts all rows by expert. An operation without an
//                    entry runs its plain form (plain_phase.h)
//   gather phase     the activations that experts read, in expert order
//   experts phase    an expert and a block of its output columns per item
//
// A transformer layer is seven phases: norm | q, k, v, rope, cache | attention | output, residual |
// norm | gate, up, activation | down, residual. It has five barriers in a step of up to eight
// rows. With experts, the phases after the second norm are: router | route | gather | gate, up,
// activation | down | sum, residual, next norm.
#pragma once

#include <cstdint>
#include <vector>

#include "abi/program_copy.h"
#include "backends/cpu/kernels/kernels.h"
#include "tenon/backend.h"

namespace tenon::cpu {

/// Internal kind of operation: the sum of a row's expert outputs, [., u n] -> [., n], for a
/// moe_linear that writes weighted results.
inline constexpr uint32_t kOpSumExperts = 0x80000001u;

/// An operation on rows of slots. kv_write is split in two halves; Quantise is internal.
enum class RowKind : uint32_t { Op, WriteKeys, WriteValues, Quantise };

struct CpuOperation;
class OperationTable;

struct RowOp {
  RowKind kind = RowKind::Op;
  tenon_op op{};                        ///< Op, WriteKeys, WriteValues
  const CpuOperation* entry = nullptr;  ///< entry of `op`; null: its plain form
  uint32_t slot = TENON_NO_SLOT;        ///< Quantise: the slot; Write*: the source
};

/// A linear and its column-wise successors. With `second`, the results of two weights pass through
/// the gated activation.
struct LinearTask {
  uint32_t weight = TENON_NO_SLOT;
  uint32_t second = TENON_NO_SLOT;  ///< weight of the `up` half of a GLU
  uint32_t bias = TENON_NO_SLOT;
  uint32_t second_bias = TENON_NO_SLOT;
  std::vector<RowOp> chain;           ///< in place, in order
  uint32_t store = TENON_NO_SLOT;     ///< slot of the result, if any operation reads it
  uint32_t quantise = TENON_NO_SLOT;  ///< slot of the quantised result, if any operation reads it
  uint64_t columns = 0;               ///< columns of the result
  uint64_t block = 0;                 ///< columns per work item
  /// Heads of a linear_heads: each has columns / heads of the result and its own part of the input.
  uint32_t heads = 1;

  [[nodiscard]] uint64_t head_columns() const { return columns / heads; }
};

/// Columns of neighbouring work items that a thread joins in the largest step, so that each read of
/// a long prompt's activations serves several panels.
inline constexpr uint64_t kJoinedColumns = 128;
/// Width of the blocks joined this way.
constexpr uint64_t joined_width(uint64_t block) {
  return block < kJoinedColumns ? kJoinedColumns / block * block : block;
}
constexpr uint64_t max_width(const LinearTask& task) { return joined_width(task.block); }
/// Width in smaller steps, with results of equal size: few rows read weights at memory speed, in
/// the longest possible runs. Both counts are of grouped rows.
constexpr uint64_t max_width(const LinearTask& task, uint64_t num_rows, uint64_t max_rows) {
  return max_width(task) * max_rows / num_rows / task.block * task.block;
}

/// A moe_linear. A pair is a row and one of its u chosen experts, number row * u + place; results
/// of pairs are laid out like slots [., u n]. With `second`, the results of two weights pass
/// through the gated activation.
struct ExpertTask {
  uint32_t weight = TENON_NO_SLOT;
  uint32_t second = TENON_NO_SLOT;  ///< weight of the `up` half of a GLU
  tenon_glu_params glu{};           ///< of both
  uint32_t bias = TENON_NO_SLOT;    ///< [experts, columns]
  uint32_t second_bias = TENON_NO_SLOT;
  bool weighted = false;           ///< multiplies results by the route's weight
  uint32_t store = TENON_NO_SLOT;  ///< slot of the results, if any operation reads it
  uint32_t keep = kNoGathered;     ///< gathered rows made of the results, if any
  bool first_is_zero = false;      ///< the first expert's results are zero
  uint64_t columns = 0;            ///< columns per expert's result
  uint64_t block = 0;              ///< columns per work item

  static constexpr uint32_t kNoGathered = 0xFFFFFFFFu;
};

/// A moe_route whose rows are sorted by expert.
struct RouteInfo {
  uint32_t ids = TENON_NO_SLOT;
  uint32_t weights = TENON_NO_SLOT;
  uint32_t experts = 0;
  uint32_t used = 0;
  bool by_scores = false;  ///< chosen by scores, not by logits: needs scratch
};

/// Activations of pairs in expert order; each expert begins at a multiple of kRowInterleave rows.
struct GatheredRows {
  uint32_t source = TENON_NO_SLOT;
  uint32_t route = 0;     ///< index in PhasePlan::routes
  uint64_t columns = 0;   ///< columns per pair
  bool by_row = false;    ///< pairs of a row share their input: the source has `columns` columns
  bool weighted = false;  ///< multiplied by the route's weight; stored as f32
  ActivationFormat formats = 0;  ///< set of formats that experts read
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
  bool quantise_result = false;         ///< Operation: items quantise their results
  std::vector<uint16_t> buckets;        ///< attention: AttentionBias::buckets of a relative bias
  uint32_t attention_plan = 0;          ///< attention: index of the plan that divides it
  uint32_t route = 0;               ///< moe_route, Gather, Experts: number among PhasePlan::routes
  uint32_t gathered = 0;            ///< Gather, Experts: number among PhasePlan::gathered
  std::vector<ExpertTask> experts;  ///< Experts

  [[nodiscard]] bool is_plain() const { return kind == PhaseKind::Operation && entry == nullptr; }
};

/// Compile-time facts about a slot.
struct SlotInfo {
  tenon_slot slot{};
  ActivationFormat formats = 0;  ///< set of formats that linears read
  bool bound = false;            ///< an input or a result: the step owns its f32 memory
  bool stored = false;           ///< has f32 memory, its own or the step's
  int32_t first_phase = -1;      ///< phase that writes it
  int32_t last_phase = -1;       ///< last phase that reads it
  int32_t last_f32_phase = -1;   ///< last phase that reads it as f32
  /// A slot whose last reader, column by column, writes this one: both share the f32 memory of that
  /// slot.
  uint32_t in_place_of = TENON_NO_SLOT;
};

/// Everything derived from a program.
struct PhasePlan {
  std::vector<SlotInfo> slots;
  std::vector<Phase> phases;
  std::vector<RouteInfo> routes;
  std::vector<GatheredRows> gathered;
  /// Operand of an addition in a task's chain that is not the linear's result: it has memory,
  /// unlike the result.
  [[nodiscard]] uint32_t other_operand(const tenon_op& addition) const {
    return slots[addition.inputs[0]].stored ? addition.inputs[0] : addition.inputs[1];
  }
};

/// Builds the phases of a program checked by supports(). Throws only std::bad_alloc.
PhasePlan build_phases(const backends::ProgramCopy& program, const Kernels& kernels,
                       const OperationTable& operations);

}  // namespace tenon::cpu
