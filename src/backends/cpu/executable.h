// A program compiled for the CPU: its phases, packed weights, activation memory and scratch; runs
// steps. kernels.h and panels.h define kernels and layouts.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "abi/host_memory.h"
#include "abi/program_copy.h"
#include "backends/cpu/kernels/best_candidates.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/layouts/panels.h"
#include "backends/cpu/operation.h"
#include "backends/cpu/phases/attention_plan.h"
#include "backends/cpu/phases/carver.h"
#include "backends/cpu/phases/expert_plan.h"
#include "backends/cpu/phases/phases.h"
#include "backends/cpu/phases/plain_phase.h"

namespace tenon::cpu {

using backends::HostMemory;

class PhaseRunner;

class Executable {
 public:
  /// A weight as a packed matrix, as f32 (vectors and small tables: norm weights, biases, sinks),
  /// or both.
  struct Weight {
    PackedWeight matrix;      // of the first expert or head
    float* vector = nullptr;  // [rows, columns]; a sealed state_table is [columns, rows]
    uint64_t expert_bytes = 0;
    [[nodiscard]] PackedWeight expert(uint64_t number) const {
      PackedWeight weight = matrix;
      weight.data += number * expert_bytes;
      return weight;
    }
  };
  /// An activation.
  struct Activation {
    float* f32 = nullptr;  // [rows, columns]
    QuantRows quantised{};
  };
  struct ThreadScratch {
    float* y = nullptr;      // [max_rows, whole_panels(max_block)]
    float* y2 = nullptr;     // as y, for the second weight of a GLU
    float* tile = nullptr;   // [kTileDepth, kFloatPanelRows]
    float* chunk = nullptr;  // [kChunkFloats], for linears with float panels
    float* attention = nullptr;
    float* index_scores = nullptr;    // [kAttentionSpan], for selects
    Candidate* candidates = nullptr;  // [2 count], for selects
    uint8_t* selected = nullptr;      // copies of selected rows, in areas of cache blocks
    const uint8_t** areas = nullptr;  // addresses of these areas
    double* scores = nullptr;         // for routes by scores (choose_by_scores)
    float* recurrence = nullptr;      // [2 keys], for decays per key
  };

  /// Requires a supported program. Throws Failure, std::bad_alloc. The host table must outlive the
  /// object.
  Executable(const tenon_host& host, const Kernels& kernels, const tenon_program& program,
             const OperationTable& operations = all_operations());

  [[nodiscard]] uint64_t block_bytes(uint32_t group) const { return block_bytes_[group]; }
  [[nodiscard]] uint64_t row_granularity(uint32_t slot) const;
  /// Loads rows of a weight; disjoint calls may run concurrently. Throws Failure for an invalid
  /// request.
  void load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows, const void* blocks,
                 uint64_t size_bytes);
  /// Transposes the tables of recurrences (state_tiles.h). May throw std::bad_alloc.
  void seal();

  /// Runs a step to its end; returns its ticket. Throws Failure: CANCELLED, an error of the step,
  /// or STATE before seal() or if the last step was not waited for. May throw std::bad_alloc while
  /// the block address tables grow.
  uint64_t run(const tenon_step& step);
  /// Throws Failure unless the ticket is the last one.
  void wait(uint64_t ticket);

  [[nodiscard]] uint64_t memory_bytes(uint32_t purpose) const;
  [[nodiscard]] const tenon_host* host() const { return &host_; }
  [[nodiscard]] const tenon_program& program() const { return program_.view(); }

 private:
  friend class OpRun;
  friend class PhaseRunner;
  friend class PlainProgram;

  /// Most rows in a step, rounded up to whole groups.
  [[nodiscard]] uint64_t max_rows() const {
    return grouped_rows(
        std::max<uint64_t>(program_.view().max_tokens, program_.view().max_outputs));
  }

  /// Rows [first_row, first_row + num_rows) of a weight slot, from load_rows.
  struct RowsToLoad {
    uint32_t slot;
    uint64_t first_row;
    uint64_t num_rows;
    const uint8_t* blocks;
    uint64_t size_bytes;
  };

  /// State of a step: positions of its tokens and addresses of its cache blocks.
  struct StepState {
    const tenon_step* step = nullptr;
    std::vector<uint32_t> token_sequence;             // [T] index into sequences
    std::vector<uint32_t> token_position;             // [T] position in the cache
    std::vector<std::vector<const uint8_t*>> blocks;  // [groups][...] addresses
    std::vector<std::vector<uint32_t>> first_block;   // [groups][sequences] into blocks
    std::vector<uint32_t> barriers;                   // phases followed by a barrier
  };

  void bind(const tenon_step& step);
  void run_phases();
  void run_plain(const Phase& phase);
  /// Runs phases [first, end), none of which is plain, in one job of the host.
  void run_job(PhaseRunner& runner, uint32_t first, uint32_t end);
  void allocate_weights();
  void allocate_missing_block();
  void allocate_activations();
  /// Calls visit(first phase, last phase, carve) for each buffer of the activation area, in the same
  /// order each time; carve(carver) takes the buffer's memory.
  template <typename Visit>
  void visit_areas(const Visit& visit);
  /// Most rows of a slot in a step.
  [[nodiscard]] uint64_t rows_of(uint32_t slot) const;
  /// The slot whose memory `slot` shares, or itself; it lives as long as both are read.
  [[nodiscard]] uint32_t owner(uint32_t slot) const;
  void allocate_scratch();
  void make_attention_plans();
  void check_rows(const RowsToLoad& rows) const;
  void pack(const Weight& weight, const RowsToLoad& rows) const noexcept;
  void prepare(const tenon_step& step);
  void find_blocks(const tenon_step_sequence& sequence, uint32_t group);
  void prepare_attention(const tenon_step& step);
  void reserve_partials(uint64_t floats);
  /// Largest CpuOperation::partials of all phases.
  [[nodiscard]] uint64_t thread_partials(uint64_t end) const;
  const tenon_host& host_;
  const Kernels kernels_;
  backends::ProgramCopy program_;
  const OperationTable& operations_;
  PhasePlan plan_;
  std::vector<uint64_t> block_bytes_;                   // [groups]
  std::vector<Weight> weights_;                         // by slot
  std::vector<Activation> activations_;                 // by slot
  std::vector<ExpertPlan> expert_plans_;                // by route
  std::vector<Activation> gathered_;                    // indexed like PhasePlan::gathered
  std::vector<ThreadScratch> scratch_;                  // by thread
  std::unique_ptr<std::atomic<uint32_t>[]> next_item_;  // by phase
  std::vector<AttentionPlan> attention_plans_;
  HostMemory attention_partials_;       // part results of one attention phase
  uint64_t thread_partial_floats_ = 0;  // per thread (CpuOperation::partials)
  HostMemory weight_memory_;
  HostMemory activation_memory_;
  HostMemory scratch_memory_;
  HostMemory missing_block_;            // zeros, for blocks before a window
  std::unique_ptr<PlainPhases> plain_;  // null without plain phases
  StepState state_;
  bool sealed_ = false;
  bool under_way_ = false;  // last step not waited for
  uint64_t last_ticket_ = 0;
};

}  // namespace tenon::cpu
