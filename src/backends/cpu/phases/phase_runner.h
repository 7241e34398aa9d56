// Runs the phases of a step, each on all threads of the host. Created per step; owns nothing.
#pragma once

#include "backends/cpu/executable.h"
#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {

class PhaseRunner {
 public:
  explicit PhaseRunner(Executable& executable) : run_(executable), x_(executable) {}

  /// Runs a thread's share of a phase that is not plain.
  void run(uint32_t phase, uint32_t thread, uint32_t num_threads) noexcept;
  /// True if the phase has nothing to divide. The last thread to reach the preceding barrier runs
  /// it while the others wait; it has no barrier of its own.
  [[nodiscard]] bool is_for_one(uint32_t phase) const noexcept;
  /// True once the step's flag was seen set; work may be missing then.
  [[nodiscard]] bool cancelled() noexcept { return run_.cancelled(); }

 private:
  /// Rows multiplied with a weight, in the formats it reads.
  struct LinearInput {
    QuantRows quantised;
    const float* f32;     // [num_rows, depth]
    uint64_t f32_stride;  // distance between rows
  };

  [[nodiscard]] uint32_t num_items(const Phase& phase) const noexcept;

  void run_row_group(const Phase& phase, uint64_t group) noexcept;
  void run_row(const Phase& phase, uint64_t row) noexcept;
  void quantise_row(uint32_t slot, uint64_t row) noexcept;

  /// Runs work items from `item` on, at most `most`; returns their number.
  uint32_t run_linear(const Phase& phase, uint32_t item, uint32_t most, uint32_t thread) noexcept;
  void multiply(const PackedWeight& weight, const LinearInput& input, const ColumnBlock& block,
                float* y, uint32_t thread) noexcept;
  /// Adds `bias` from value `first` on to the columns of y.
  void add_bias(uint32_t bias, uint64_t first, const ColumnBlock& block, float* y) noexcept;
  void apply(const RowOp& row, const ColumnBlock& block) noexcept;
  void finish(const LinearTask& task, const ColumnBlock& block) noexcept;

  void run_gather(const Phase& phase, uint32_t item) noexcept;
  /// Like run_linear.
  uint32_t run_experts(const Phase& phase, uint32_t item, uint32_t most, uint32_t thread) noexcept;
  void finish_experts(const Phase& phase, const ExpertTask& task, const ExpertRows& expert,
                      const ColumnBlock& block) noexcept;
  [[nodiscard]] uint32_t num_expert_items(const Phase& phase) const noexcept;
  [[nodiscard]] bool one_row_for_all(const Phase& phase) const noexcept;

  OpRun run_;
  Executable& x_;
};

}  // namespace tenon::cpu
