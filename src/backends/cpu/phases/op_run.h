// A running step as operations see it: rows, weights, the cache, scratch.
#pragma once

#include "abi/step_rules.h"
#include "abi/strided.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/operation.h"

namespace tenon::cpu {

class OpRun {
 public:
  explicit OpRun(Executable& executable) : k(executable.kernels_), x_(executable) {}
  OpRun(const OpRun&) = delete;
  OpRun& operator=(const OpRun&) = delete;

  const Kernels& k;

  /// True once the step's flag was seen set; work may be missing then.
  [[nodiscard]] bool cancelled() noexcept;

  [[nodiscard]] const backends::ProgramCopy& program() const noexcept { return x_.program_; }
  [[nodiscard]] const PhasePlan& plan() const noexcept { return x_.plan_; }
  [[nodiscard]] const tenon_cache_group& group(uint32_t number) const noexcept {
    return x_.program_.groups()[number];
  }
  [[nodiscard]] const tenon_step& step() const noexcept { return *x_.state_.step; }
  [[nodiscard]] uint64_t num_rows(uint32_t row_class) const noexcept {
    return backends::num_rows(step(), row_class);
  }

  [[nodiscard]] uint64_t columns(uint32_t slot) const noexcept {
    return x_.plan_.slots[slot].slot.columns;
  }
  [[nodiscard]] const Executable::Activation& activation(uint32_t slot) const noexcept {
    return x_.activations_[slot];
  }
  [[nodiscard]] const Executable::Weight& weight(uint32_t slot) const noexcept {
    return x_.weights_[slot];
  }
  [[nodiscard]] float* f32_row(uint32_t slot, uint64_t row) const noexcept {
    return x_.activations_[slot].f32 + row * columns(slot);
  }
  /// A row of an i32 slot, stored in memory for f32.
  [[nodiscard]] int32_t* i32_row(uint32_t slot, uint64_t row) const noexcept {
    return reinterpret_cast<int32_t*>(f32_row(slot, row));
  }
  /// A row of an activation, or a weight vector.
  [[nodiscard]] const float* operand(uint32_t slot, uint64_t row) const noexcept {
    const bool is_weight = x_.plan_.slots[slot].slot.kind == TENON_SLOT_WEIGHT;
    return is_weight ? vector(slot) : f32_row(slot, row);
  }
  [[nodiscard]] const float* vector(uint32_t slot) const noexcept {
    return slot == TENON_NO_SLOT ? nullptr : x_.weights_[slot].vector;
  }
  /// A row of input 0 and of the result, which has n columns.
  struct Row {
    const float* x;
    float* out;
    uint64_t n;
  };
  [[nodiscard]] Row row(const tenon_op& op, uint64_t row) const noexcept {
    return {f32_row(op.inputs[0], row), f32_row(op.outputs[0], row), columns(op.outputs[0])};
  }

  /// A part of a token's position.
  [[nodiscard]] int32_t position(uint64_t token, uint32_t part = 0) const noexcept {
    return step().positions[token * x_.program_.view().position_parts + part];
  }
  /// A token's position in the cache.
  [[nodiscard]] uint32_t token_position(uint64_t token) const noexcept {
    return x_.state_.token_position[token];
  }
  [[nodiscard]] uint32_t token_sequence(uint64_t token) const noexcept {
    return x_.state_.token_sequence[token];
  }
  /// Addresses of a sequence's blocks; in a STATE group, the block read and the block written.
  [[nodiscard]] const uint8_t* const* sequence_blocks(uint32_t group,
                                                      uint32_t sequence) const noexcept {
    return x_.state_.blocks[group].data() + x_.state_.first_block[group][sequence];
  }
  [[nodiscard]] const uint8_t* const* cache_blocks(uint32_t group, uint32_t token) const noexcept {
    return sequence_blocks(group, token_sequence(token));
  }

  [[nodiscard]] const Executable::ThreadScratch& scratch(uint32_t thread) const noexcept {
    return x_.scratch_[thread];
  }
  [[nodiscard]] AttentionPlan& attention_plan(uint32_t number) const noexcept {
    return x_.attention_plans_[number];
  }
  [[nodiscard]] float* attention_partials() const noexcept {
    return reinterpret_cast<float*>(x_.attention_partials_.data());
  }
  /// Part results of a thread (CpuOperation::partials).
  [[nodiscard]] float* thread_partials(uint32_t thread) const noexcept {
    return attention_partials() + thread * x_.thread_partial_floats_;
  }
  [[nodiscard]] ExpertPlan& expert_plan(uint32_t route) const noexcept {
    return x_.expert_plans_[route];
  }
  [[nodiscard]] const Executable::Activation& gathered(uint32_t number) const noexcept {
    return x_.gathered_[number];
  }
  /// Most rows in a step, in whole groups.
  [[nodiscard]] uint64_t max_rows() const noexcept { return x_.max_rows(); }

 private:
  Executable& x_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace tenon::cpu
