// Deep copies of steps and draws, for a queue that runs them later.
#pragma once

#include <cstdint>
#include <vector>

#include "abi/failure.h"
#include "abi/strided.h"
#include "tenon/backend.h"

namespace tenon::delayed {

/// Properties of a program needed for the copies.
struct StepShape {
  std::vector<tenon_cache_group> groups;
  uint32_t position_parts = 1;
  uint32_t token_history = 0;
  uint64_t vocab = 0;
};

/// Copies everything but the memory of bindings and the cancel flag, which the host keeps. Throws
/// ARGUMENT for missing arrays.
class StepCopy {
 public:
  ///   inner  maps a slab of the host's view to the step's buffer
  template <typename Inner>
  StepCopy(const tenon_step& step, const StepShape& shape, Inner inner) : step_(step) {
    check(step, shape);
    tokens_.assign(step.tokens, step.tokens + step.num_tokens);
    positions_.assign(step.positions,
                      step.positions + uint64_t{step.num_tokens} * shape.position_parts);
    if (shape.token_history > 0) {
      earlier_tokens_.assign(
          step.earlier_tokens,
          step.earlier_tokens + uint64_t{step.num_sequences} * shape.token_history);
    }
    output_rows_.assign(step.output_rows, step.output_rows + step.num_outputs);
    bindings_ = bindings_of(step).copies();
    copy_sequences(shape);
    slabs_.resize(step.num_pools);
    pools_.assign(step.pools, step.pools + step.num_pools);
    for (uint32_t g = 0; g < step.num_pools; ++g) {
      for (uint32_t i = 0; i < pools_[g].num_slabs; ++i) {
        slabs_[g].push_back(inner(pools_[g].slabs[i]));
      }
      pools_[g].slabs = slabs_[g].data();
    }
    point();
  }
  StepCopy(const StepCopy&) = delete;
  StepCopy& operator=(const StepCopy&) = delete;

  [[nodiscard]] tenon_step& step() { return step_; }

 private:
  static void check(const tenon_step& step, const StepShape& shape);
  void copy_sequences(const StepShape& shape);
  void point();

  tenon_step step_;
  std::vector<int32_t> tokens_;
  std::vector<int32_t> positions_;
  std::vector<int32_t> earlier_tokens_;
  std::vector<uint32_t> output_rows_;
  std::vector<tenon_binding> bindings_;
  std::vector<tenon_step_sequence> sequences_;
  std::vector<std::vector<uint32_t>> blocks_;         // [sequences, groups]
  std::vector<std::vector<const uint32_t*>> tables_;  // [sequences]
  std::vector<tenon_cache_pool> pools_;
  std::vector<std::vector<tenon_buffer*>> slabs_;  // [groups]
};

class DrawCopy {
 public:
  DrawCopy(const tenon_draw* draws, uint32_t num_draws, uint32_t draw_size, uint64_t vocab);
  DrawCopy(const DrawCopy&) = delete;
  DrawCopy& operator=(const DrawCopy&) = delete;

  [[nodiscard]] const std::vector<tenon_draw>& draws() const { return draws_; }

 private:
  std::vector<tenon_draw> draws_;
  std::vector<std::vector<uint64_t>> allowed_;
  std::vector<std::vector<tenon_draw_bias>> biases_;
};

}  // namespace tenon::delayed
