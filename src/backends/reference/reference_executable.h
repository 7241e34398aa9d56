// A compiled program: a copy of its lists, its weights as raw blocks, and the memory of
// activations. Running a step is done in reference_step.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/reference/reference_memory.h"
#include "tenon/backend.h"

namespace tenon::reference {

/// Where a token of a step stands.
struct TokenPlace {
  const tenon_step_sequence* sequence = nullptr;
  uint32_t position = 0;  ///< in its sequence
};

/// Memory that steps use again and again.
struct StepScratch {
  std::vector<TokenPlace> places;  ///< [max_tokens]
  HostMemory thread_values;        ///< doubles for the threads of one operation
  HostMemory logits;               ///< [R, vocab] f64

  void reserve_values(const tenon_host* host, uint64_t num_values);
  [[nodiscard]] double* values() const { return reinterpret_cast<double*>(thread_values.data()); }
};

class Executable {
 public:
  /// Copies the program; throws UNSUPPORTED naming an operation that does not fit.
  Executable(const tenon_host* host, const tenon_program& program);
  ~Executable();

  /// Bytes of a KV block: [layers, block_tokens, heads x (key_dim + value_dim)] elements.
  [[nodiscard]] uint64_t kv_block_bytes(uint32_t group) const;
  /// Copies blocks of weight rows; may run in parallel for disjoint rows.
  void load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows, const void* blocks,
                 uint64_t size_bytes);
  /// Throws STATE naming the first weight with missing rows.
  void seal();
  /// Runs a step to its end; returns its ticket.
  uint64_t run(const tenon_step& step);
  void wait(uint64_t ticket) const;
  [[nodiscard]] uint64_t memory_bytes(uint32_t purpose) const;

  [[nodiscard]] const tenon_host* host() const { return host_; }
  [[nodiscard]] const tenon_program& program() const { return program_; }
  [[nodiscard]] std::span<const tenon_op> ops() const { return ops_; }
  [[nodiscard]] const tenon_slot& slot(uint32_t slot) const { return slots_[slot]; }
  [[nodiscard]] uint32_t num_slots() const { return static_cast<uint32_t>(slots_.size()); }
  [[nodiscard]] const tenon_kv_group& group(uint32_t group) const { return groups_[group]; }
  [[nodiscard]] std::span<const double> constant(uint32_t slot) const { return constants_[slot]; }
  /// Blocks of row `row` of a weight.
  [[nodiscard]] const std::byte* weight_row(uint32_t slot, uint64_t row) const {
    return weights_[slot].data() + row * row_bytes_[slot];
  }
  /// Start of an activation in the area; nullptr for the output of the program.
  [[nodiscard]] double* activation(uint32_t slot) const;

 private:
  void copy_lists(const tenon_program& program);
  void check_operations() const;
  void copy_constant(uint32_t slot);
  void allocate_weight(uint32_t slot);
  void place_activations();

  const tenon_host* host_;
  tenon_program program_;  ///< its pointers lead to the copies below
  std::vector<std::string> names_;
  std::vector<tenon_slot> slots_;
  std::vector<tenon_op> ops_;
  std::vector<tenon_kv_group> groups_;
  // By slot; empty or zero where the slot is of another kind.
  std::vector<std::vector<double>> constants_;
  std::vector<HostMemory> weights_;
  std::vector<uint64_t> row_bytes_;
  std::vector<uint64_t> offsets_;  ///< bytes from the start of area_
  std::unique_ptr<std::atomic<uint64_t>[]> rows_loaded_;
  HostMemory area_;
  StepScratch scratch_;
  bool sealed_ = false;
  uint64_t last_ticket_ = 0;
};

/// Memory that the host can hand to steps.
struct DeviceBuffer {
  const tenon_host* host;
  HostMemory memory;
};

}  // namespace tenon::reference
