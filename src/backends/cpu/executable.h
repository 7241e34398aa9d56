// A program compiled for the CPU: its phases, packed weights, activation memory and scratch, and
// the running of a step. Kernels and layouts are elsewhere (kernels.h, panels.h).
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "backends/cpu/attention_plan.h"
#include "backends/cpu/expert_plan.h"
#include "backends/cpu/host_memory.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/panels.h"
#include "backends/cpu/phases.h"

namespace tenon::cpu {

/// Rows [first_row, first_row + num_rows) of a weight slot, as load_rows gives them.
struct RowsToLoad {
  uint32_t slot;
  uint64_t first_row;
  uint64_t num_rows;
  const uint8_t* blocks;
  uint64_t size_bytes;
};

class Executable {
 public:
  /// Throws std::bad_alloc. The host table must outlive the object.
  Executable(const tenon_host& host, const Kernels& kernels, const tenon_program& program);

  [[nodiscard]] uint64_t kv_block_bytes(uint32_t group) const;
  [[nodiscard]] uint64_t row_granularity(uint32_t slot) const;
  /// NULL, or what is wrong with the request.
  [[nodiscard]] const char* check_rows(const RowsToLoad& rows) const;
  /// The rows passed check_rows. Disjoint calls may run concurrently.
  void load_rows(const RowsToLoad& rows) noexcept;
  void seal() { sealed_ = true; }
  [[nodiscard]] bool sealed() const { return sealed_; }

  /// NULL, or what is wrong with the step.
  [[nodiscard]] const char* check_step(const tenon_step& step) const;
  /// Runs a step that passed check_step, sealed: 0, TENON_BACKEND_CANCELLED, or what the host gave
  /// when its threads did not run the step. May throw std::bad_alloc while the block address tables
  /// grow to a longer context than seen before.
  int32_t run(const tenon_step& step);

  [[nodiscard]] uint64_t memory_bytes(uint32_t purpose) const;

 private:
  friend class PhaseRunner;

  /// Of any step, in whole groups.
  [[nodiscard]] uint64_t max_rows() const {
    return grouped_rows(std::max<uint64_t>(plan_.max_tokens, plan_.max_outputs));
  }

  /// A weight matrix in packed form, or a vector (norm weight, bias, sinks) as f32.
  struct Weight {
    PackedWeight matrix;      // of the first expert, where there are several
    float* vector = nullptr;  // [columns]
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
    float* y2 = nullptr;     // the same, for the second weight of a GLU
    float* tile = nullptr;   // [kTileDepth, kFloatPanelRows]
    float* piece = nullptr;  // [kPieceFloats], where a linear has float panels
    float* attention = nullptr;
  };
  /// What a step adds: where each token is and where the cache blocks are.
  struct StepState {
    const tenon_step* step = nullptr;
    std::vector<uint32_t> token_sequence;             // [T] index into sequences
    std::vector<uint32_t> token_position;             // [T] cache position
    std::vector<std::vector<const uint8_t*>> blocks;  // [groups][...] addresses
    std::vector<std::vector<uint32_t>> first_block;   // [groups][sequences] into blocks
    std::vector<uint32_t> meetings;                   // phases that all threads run
  };

  void allocate_weights(const tenon_program& program);
  void allocate_activations();
  void allocate_scratch();
  void make_attention_plans();
  void pack(const Weight& weight, const RowsToLoad& rows) const noexcept;
  void prepare(const tenon_step& step);
  void prepare_attention(const tenon_step& step);

  const tenon_host& host_;
  const Kernels& kernels_;
  PhasePlan plan_;
  std::vector<Weight> weights_;                         // by slot
  std::vector<std::vector<double>> constants_;          // by slot
  std::vector<Activation> activations_;                 // by slot
  std::vector<ExpertPlan> expert_plans_;                // by route
  std::vector<Activation> gathered_;                    // as PhasePlan::gathered
  std::vector<ThreadScratch> scratch_;                  // by thread
  std::unique_ptr<std::atomic<uint32_t>[]> next_item_;  // by phase
  std::vector<AttentionPlan> attention_plans_;
  HostMemory attention_parts_;  // of one attention phase: part results where a tile is cut
  HostMemory weight_memory_;
  HostMemory activation_memory_;
  HostMemory scratch_memory_;
  StepState state_;
  bool sealed_ = false;
};

}  // namespace tenon::cpu
