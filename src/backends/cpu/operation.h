// What the CPU does for one operation of the plugin ABI: an entry of its table. ops/NAME.cpp defines
// the entry `ops::NAME`; an operation without one runs its plain form (phases/plain_phase.h).
#pragma once

#include <cstdint>
#include <span>

#include "backends/cpu/phases/attention_plan.h"
#include "backends/cpu/phases/phases.h"
#include "tenon/backend.h"

namespace tenon::cpu {

class OpRun;

/// In which phases an operation is computed.
enum class Placement : uint32_t {
  Rows,     ///< row after row, with others
  Linear,   ///< a product with a weight
  Route,    ///< a phase of its own, whose rows are then sorted by expert
  Experts,  ///< a product with the weights of experts
  Own       ///< a phase of its own
};

/// Columns [first, first + width) of all rows of a linear's result, in scratch.
struct ColumnBlock {
  uint64_t first;
  uint64_t width;
  uint64_t num_rows;
  float* y;         ///< [num_rows, stride]
  const float* y2;  ///< [num_rows, stride], the second weight's
  [[nodiscard]] uint64_t stride() const { return whole_panels(width); }
  [[nodiscard]] float* row(uint64_t t) const { return y + t * stride(); }
};

/// An operation on the result of a linear, column by column.
struct ColumnForm {
  /// In place on row t of the block; nullptr: it has no such form.
  void (*apply)(OpRun& run, const RowOp& row, const ColumnBlock& block,
                uint64_t t) noexcept = nullptr;
  /// Whether it works so on `result`; nullptr: always.
  bool (*fits)(const PhasePlan& plan, const RowOp& row, uint32_t result) noexcept = nullptr;
  /// Columns that belong together; nullptr: each is computed alone.
  uint64_t (*together)(const RowOp& row,
                       std::span<const tenon_cache_group> groups) noexcept = nullptr;
};

/// A phase of one operation. Items are divided among threads.
struct PhaseForm {
  uint32_t (*items)(const OpRun& run, const Phase& phase) noexcept = nullptr;
  void (*run)(OpRun& run, const Phase& phase, uint32_t item, uint32_t thread) noexcept = nullptr;
  bool uneven = false;  ///< items take times of their own
  bool small = false;   ///< one item is nothing to divide: it gets no barrier
  /// What the phase keeps for all steps, beside the operation.
  void (*prepare)(const PhasePlan& plan, Phase& phase) = nullptr;
  /// Columns that an item writes, where it can quantise its result (Phase::quantise_result).
  uint64_t (*quantises)(const tenon_op& op,
                        std::span<const tenon_cache_group> groups) noexcept = nullptr;
};

/// Scratch memory of a thread, in entries of ThreadScratch.
struct ScratchSizes {
  uint64_t attention = 0;   ///< floats of the attention kernels
  uint64_t candidates = 0;  ///< of a select: two for each position that it gives
  uint64_t areas = 0;       ///< of cache blocks, where rows that were chosen lie side by side
  uint64_t area_bytes = 0;  ///< of these together
  uint64_t scores = 0;
  uint64_t recurrence = 0;
};
struct ScratchContext {
  const PhasePlan& plan;
  std::span<const tenon_cache_group> groups;
  std::span<const AttentionPlan> attention_plans;
};

struct CpuOperation {
  static constexpr uint32_t kNoInput = TENON_MAX_INPUTS;

  uint32_t kind;  ///< TENON_OP_* or our own
  Placement placement = Placement::Rows;
  /// Whether it can be run as given; nullptr: yes. Else the device does not support it.
  bool (*fits)(const tenon_program& program, const tenon_op& op) noexcept = nullptr;
  uint32_t constants = TENON_TYPE_F64;  ///< type of its constants
  /// Matrices that it sees in the weight of an input: experts, heads, or one; 0 where it reads
  /// vectors. nullptr: vectors everywhere.
  uint32_t (*matrices)(const tenon_op& op, uint32_t input) noexcept = nullptr;
  bool looks_up = false;  ///< rows of its matrix are looked up, not multiplied
  /// The input whose small matrix lies transposed once sealed, so that its lanes are side by side.
  uint32_t transposed = kNoInput;
  /// Rows: computes a row of the result.
  void (*row)(OpRun& run, const RowOp& op, uint64_t row) noexcept = nullptr;
  ColumnForm columns{};  ///< Rows
  PhaseForm phase{};     ///< Own, Route
  /// Raises the sizes to what it takes; nullptr: nothing.
  void (*scratch)(const ScratchContext& context, const Phase& phase, ScratchSizes& sizes) = nullptr;
  /// Floats of part results that a thread takes when a sequence has `end` positions after the step;
  /// nullptr: none.
  uint64_t (*partials)(const ScratchContext& context, const Phase& phase, uint64_t end) = nullptr;
};

/// Entries of the table, by the names of files in ops/ (cmake/rooms.cmake lists them).
namespace ops {
#define TENON_CPU_OPERATION(name) extern const CpuOperation name;
#include <cpu_operations.h>
#undef TENON_CPU_OPERATION
}  // namespace ops

/// Entries by kind. An operation without one runs its plain form.
class OperationTable {
 public:
  constexpr explicit OperationTable(std::span<const CpuOperation* const> entries)
      : entries_(entries) {}

  /// nullptr: there is none.
  [[nodiscard]] const CpuOperation* find(uint32_t kind) const noexcept;
  /// The entry by which operation `op` of a program is run; nullptr: its plain form. All operations
  /// of a cache group of positions run in one way, since the two lay it out differently.
  [[nodiscard]] const CpuOperation* entry_of(const tenon_program& program,
                                             const tenon_op& op) const noexcept;
  /// Whether plain forms read and write a cache group of positions.
  [[nodiscard]] bool is_plain_group(const tenon_program& program, uint32_t group) const noexcept;

 private:
  std::span<const CpuOperation* const> entries_;
};

/// All entries.
const OperationTable& all_operations() noexcept;

/// CpuOperation::matrices of an entry, which may be nullptr.
uint32_t num_matrices(const CpuOperation* operation, const tenon_op& op, uint32_t input) noexcept;

/// The slot of CpuOperation::transposed of an entry, which may be nullptr; TENON_NO_SLOT: none.
uint32_t state_table(const CpuOperation* operation, const tenon_op& op) noexcept;

}  // namespace tenon::cpu
