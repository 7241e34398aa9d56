// A compiled program: a copy of its lists, its weights as raw blocks, and the memory of
// activations. Running a step is done in reference_step.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backends/common/host_draw.h"
#include "backends/common/host_memory.h"
#include "backends/common/program_copy.h"
#include "backends/common/strided.h"
#include "tenon/backend.h"

namespace tenon::reference {

using backends::HostMemory;

/// Where a token of a step stands.
struct TokenPlace {
  const tenon_step_sequence* sequence = nullptr;
  uint32_t position = 0;  ///< in its sequence
};

/// Memory that steps use again and again.
struct StepScratch {
  std::vector<TokenPlace> places;       ///< [max_tokens]
  HostMemory thread_values;             ///< doubles for the threads of one operation
  std::vector<HostMemory> bound_values;  ///< by slot: inputs and results [rows, columns] f64

  void reserve_values(const tenon_host* host, uint64_t num_values);
  [[nodiscard]] double* values() const { return reinterpret_cast<double*>(thread_values.data()); }
};

class Executable {
 public:
  /// Copies the program; throws UNSUPPORTED naming an operation that does not fit.
  Executable(const tenon_host* host, const tenon_program& program);
  ~Executable();

  /// Bytes of a cache block: [layers, block_tokens, heads x (key_dim + value_dim)] elements; of a
  /// state [layers, state_values] f32.
  [[nodiscard]] uint64_t block_bytes(uint32_t group) const { return block_bytes_[group]; }
  [[nodiscard]] std::span<const uint64_t> block_bytes() const { return block_bytes_; }
  /// Any rows may be loaded at once.
  [[nodiscard]] uint64_t row_granularity(uint32_t) const { return 1; }
  /// Copies blocks of weight rows; may run in parallel for disjoint rows.
  void load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows, const void* blocks,
                 uint64_t size_bytes);
  /// Throws STATE naming the first weight with missing rows.
  void seal();
  /// Runs a step to its end; returns its ticket. Throws STATE when the last one was not waited for.
  uint64_t run(const tenon_step& step);
  /// Draws from the logits of the last step; returns a ticket. Throws ARGUMENT.
  uint64_t draw(uint64_t step, const Strided<tenon_draw>& draws);
  void wait(uint64_t ticket);
  [[nodiscard]] uint64_t memory_bytes(uint32_t purpose) const;

  [[nodiscard]] const tenon_host* host() const { return host_; }
  [[nodiscard]] const backends::ProgramCopy& copy() const { return program_; }
  [[nodiscard]] const tenon_program& program() const { return program_.view(); }
  [[nodiscard]] std::span<const tenon_op> ops() const { return program_.ops(); }
  [[nodiscard]] std::span<const uint32_t> results() const { return program_.results(); }
  [[nodiscard]] const tenon_slot& slot(uint32_t slot) const { return program_.slots()[slot]; }
  [[nodiscard]] uint32_t num_slots() const { return program().num_slots; }
  [[nodiscard]] const tenon_cache_group& group(uint32_t group) const {
    return program_.groups()[group];
  }
  [[nodiscard]] std::span<const double> constant(uint32_t slot) const {
    return program_.constant(slot);
  }
  /// Blocks of row `row` of a weight.
  [[nodiscard]] const std::byte* weight_row(uint32_t slot, uint64_t row) const {
    return weights_[slot].data() + row * row_bytes_[slot];
  }
  /// Whether the step binds it: an input or a result.
  [[nodiscard]] bool is_bound(uint32_t slot) const;
  /// Start of an activation in the area, unless it is bound.
  [[nodiscard]] double* activation(uint32_t slot) const;

 private:
  void check_operations() const;
  [[nodiscard]] uint64_t bytes_of_block(uint32_t group) const;
  void allocate_weight(uint32_t slot);
  [[nodiscard]] tenon_step with_drawn_tokens(const tenon_step& step);
  void place_activations();

  const tenon_host* host_;
  backends::ProgramCopy program_;
  std::vector<uint64_t> block_bytes_;  ///< [groups]
  // By slot; empty or zero where the slot is of another kind.
  std::vector<HostMemory> weights_;
  std::vector<uint64_t> row_bytes_;
  std::vector<uint64_t> offsets_;  ///< bytes from the start of area_
  std::unique_ptr<std::atomic<uint64_t>[]> rows_loaded_;
  HostMemory area_;
  StepScratch scratch_;
  bool sealed_ = false;
  uint64_t last_ticket_ = 0;    ///< of a step or a draw
  uint64_t waited_ticket_ = 0;
  uint64_t step_ticket_ = TENON_NO_TICKET;  ///< of the last step, unless it failed
  // Draws: the logits of the last step are in scratch_.
  uint32_t num_rows_ = 0;                   ///< of that step
  std::vector<int32_t> drawn_;              ///< [num_rows_] tokens; kNotDrawn
  std::vector<int32_t> tokens_;             ///< of the step under way, with drawn ones in their places
  std::vector<float> row_;                  ///< [vocab]
  backends::HostDraw host_draw_;
};

}  // namespace tenon::reference
