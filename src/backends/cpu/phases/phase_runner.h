// Runs the phases of a step, each on all threads of the host. Made anew for every step; owns
// nothing.
#pragma once

#include "backends/cpu/executable.h"
#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {

class PhaseRunner {
 public:
  explicit PhaseRunner(Executable& executable) : run_(executable), x_(executable) {}

  /// Does what a thread finds to do of a phase that is not plain.
  void run(uint32_t phase, uint32_t thread, uint32_t num_threads) noexcept;
  /// Whether the phase has nothing to divide: it is run by the last thread to reach the preceding
  /// barrier while the others wait there, and has no barrier of its own.
  [[nodiscard]] bool is_for_one(uint32_t phase) const noexcept;
  /// Whether the step's flag was seen set, now or before: work may then be missing.
  [[nodiscard]] bool cancelled() noexcept { return run_.cancelled(); }

 private:
  /// The rows that a weight is multiplied with, in the formats that it reads.
  struct LinearInput {
    QuantRows quantised;
    const float* f32;     // [num_rows, depth]
    uint64_t f32_stride;  // from row to row
  };

  [[nodiscard]] uint32_t num_items(const Phase& phase) const noexcept;

  void run_row_group(const Phase& phase, uint64_t group) noexcept;
  void run_row(const Phase& phase, uint64_t row) noexcept;
  void quantise_row(uint32_t slot, uint64_t row) noexcept;

  /// Work items from `item` on, `most` at most; returns how many.
  uint32_t run_linear(const Phase& phase, uint32_t item, uint32_t most, uint32_t thread) noexcept;
  void multiply(const PackedWeight& weight, const LinearInput& input, const ColumnBlock& block,
                float* y, uint32_t thread) noexcept;
  /// The values of `bias` from `first` on are those of column 0.
  void add_bias(uint32_t bias, uint64_t first, const ColumnBlock& block, float* y) noexcept;
  void apply(const RowOp& row, const ColumnBlock& block) noexcept;
  void finish(const LinearTask& task, const ColumnBlock& block) noexcept;

  void run_gather(const Phase& phase, uint32_t item) noexcept;
  /// As run_linear.
  uint32_t run_experts(const Phase& phase, uint32_t item, uint32_t most, uint32_t thread) noexcept;
  void finish_experts(const Phase& phase, const ExpertTask& task, const ExpertRows& expert,
                      const ColumnBlock& block) noexcept;
  [[nodiscard]] uint32_t num_expert_items(const Phase& phase) const noexcept;
  [[nodiscard]] bool one_row_for_all(const Phase& phase) const noexcept;

  OpRun run_;
  Executable& x_;
};

}  // namespace tenon::cpu
