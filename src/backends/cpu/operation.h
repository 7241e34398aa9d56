// An entry of the CPU's operation table. ops/NAME.cpp defines the entry `ops::NAME`; an operation
// without an entry runs its plain form (phases/plain_phase.h).
#pragma once

#include <cstdint>
#include <span>

#include "backends/cpu/phases/attention_plan.h"
#include "backends/cpu/phases/phases.h"
#include "tenon/backend.h"

namespace tenon::cpu {

class OpRun;

/// Kind of phase that computes an operation.
enum class Placement : uint32_t {
  Rows,     ///< row by row, with other operations
  Linear,   ///< a product with a weight
  Route,    ///< its own phase, whose rows are then sorted by expert
  Experts,  ///< a product with the weights of experts
  Own       ///< its own phase
};

/// Columns [first, first + width) of all rows of a linear's result, in scratch.
struct ColumnBlock {
  uint64_t first;
  uint64_t width;
  uint64_t num_rows;
  float* y;         ///< [num_rows, stride]
  const float* y2;  ///< [num_rows, stride] of the second weight
  [[nodiscard]] uint64_t stride() const { return whole_panels(width); }
  [[nodiscard]] float* row(uint64_t t) const { return y + t * stride(); }
};

/// Column-wise form of an operation, applied to a linear's result.
struct ColumnForm {
  /// Works in place on row t of the block; null: no such form.
  void (*apply)(OpRun& run, const RowOp& row, const ColumnBlock& block,
                uint64_t t) noexcept = nullptr;
  /// True if the form applies to `result`; null: always.
  bool (*fits)(const PhasePlan& plan, const RowOp& row, uint32_t result) noexcept = nullptr;
  /// Number of columns that belong together; null: columns are independent.
  uint64_t (*together)(const RowOp& row,
                       std::span<const tenon_cache_group> groups) noexcept = nullptr;
};

/// A phase of one operation. Threads share its items.
struct PhaseForm {
  uint32_t (*items)(const OpRun& run, const Phase& phase) noexcept = nullptr;
  void (*run)(OpRun& run, const Phase& phase, uint32_t item, uint32_t thread) noexcept = nullptr;
  bool uneven = false;  ///< items differ in time
  bool small = false;   ///< a single item gets no barrier
  /// Prepares data of the phase that is the same in all steps.
  void (*prepare)(const PhasePlan& plan, Phase& phase) = nullptr;
  /// Columns written by an item, for phases that can quantise their result
  /// (Phase::quantise_result).
  uint64_t (*quantises)(const tenon_op& op,
                        std::span<const tenon_cache_group> groups) noexcept = nullptr;
};

/// Scratch memory of a thread, in entries of ThreadScratch.
struct ScratchSizes {
  uint64_t attention = 0;   ///< floats of the attention kernels
  uint64_t candidates = 0;  ///< of a select: two per chosen position
  uint64_t areas = 0;       ///< of cache blocks, for gathered rows
  uint64_t area_bytes = 0;  ///< total size of these areas
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

  uint32_t kind;  ///< TENON_OP_*, or an internal kind
  Placement placement = Placement::Rows;
  /// True if the operation can run as given, beside the program's other operations as `table` runs
  /// them; null: always. The device does not support it otherwise.
  bool (*fits)(const OperationTable& table, const tenon_program& program,
               const tenon_op& op) noexcept = nullptr;
  uint32_t constants = TENON_TYPE_F64;  ///< type of its constants
  /// Number of matrices in the weight of an input: experts, heads, or 1; 0 for vectors. Null: only
  /// vectors.
  uint32_t (*matrices)(const tenon_op& op, uint32_t input) noexcept = nullptr;
  bool looks_up = false;  ///< rows of its matrix are looked up, not multiplied
  /// Input whose small matrix is transposed by seal(), which makes its lanes contiguous.
  uint32_t transposed = kNoInput;
  /// Rows: computes a row of the result.
  void (*row)(OpRun& run, const RowOp& op, uint64_t row) noexcept = nullptr;
  ColumnForm columns{};  ///< Rows
  PhaseForm phase{};     ///< Own, Route
  /// Raises `sizes` to its needs; null: needs none.
  void (*scratch)(const ScratchContext& context, const Phase& phase, ScratchSizes& sizes) = nullptr;
  /// Floats of part results per thread for a sequence with `end` positions after the step; null:
  /// none.
  uint64_t (*partials)(const ScratchContext& context, const Phase& phase, uint64_t end) = nullptr;
};

/// Table entries, named after the files in ops/ (listed by cmake/rooms.cmake).
namespace ops {
#define TENON_CPU_OPERATION(name) extern const CpuOperation name;
#include <cpu_operations.h>
#undef TENON_CPU_OPERATION
}  // namespace ops

/// Entries by kind. An operation without an entry runs its plain form.
class OperationTable {
 public:
  constexpr explicit OperationTable(std::span<const CpuOperation* const> entries)
      : entries_(entries) {}

  /// Entry of a kind; null if missing.
  [[nodiscard]] const CpuOperation* find(uint32_t kind) const noexcept;
  /// Entry that runs operation `op` of a program; null means its plain form. All operations on a
  /// cache group of positions run the same way, because entries and plain forms lay it out
  /// differently.
  [[nodiscard]] const CpuOperation* entry_of(const tenon_program& program,
                                             const tenon_op& op) const noexcept;
  /// True if plain forms read and write a cache group of positions.
  [[nodiscard]] bool is_plain_group(const tenon_program& program, uint32_t group) const noexcept;

 private:
  std::span<const CpuOperation* const> entries_;
};

/// The table of all operations of the CPU backend.
const OperationTable& all_operations() noexcept;

/// CpuOperation::matrices of an entry, which may be null.
uint32_t num_matrices(const CpuOperation* operation, const tenon_op& op, uint32_t input) noexcept;

/// Slot of CpuOperation::transposed of an entry, which may be null; TENON_NO_SLOT if none.
uint32_t state_table(const CpuOperation* operation, const tenon_op& op) noexcept;

}  // namespace tenon::cpu
