// Runs the phases of a step, each on all threads of the host. Made anew for every step; owns
// nothing.
#pragma once

#include "backends/cpu/executable.h"
#include "backends/cpu/layouts/state_tiles.h"

namespace tenon::cpu {

class PhaseRunner {
 public:
  explicit PhaseRunner(Executable& executable) : x_(executable), k_(executable.kernels_) {}

  /// Does what a thread finds to do of a phase.
  void run(uint32_t phase, uint32_t thread, uint32_t num_threads) noexcept;
  /// Whether the phase has nothing to divide: it is run by the last thread to reach the preceding
  /// barrier while the others wait there, and has no barrier of its own.
  [[nodiscard]] bool is_for_one(uint32_t phase) const noexcept;
  /// Whether the step's flag was seen set, now or before: work may then be missing.
  [[nodiscard]] bool cancelled() noexcept;

 private:
  /// Columns [first, first + width) of all rows of a linear's result, in scratch.
  struct ColumnBlock {
    uint64_t first;
    uint64_t width;
    uint64_t num_rows;
    float* y;         // [num_rows, stride]
    const float* y2;  // [num_rows, stride], the second weight's
    [[nodiscard]] uint64_t stride() const { return whole_panels(width); }
  };

  /// The rows that a weight is multiplied with, in the formats that it reads.
  struct LinearInput {
    QuantRows quantised;
    const float* f32;     // [num_rows, depth]
    uint64_t f32_stride;  // from row to row
  };

  void run_row_group(const Phase& phase, uint64_t group) noexcept;
  void run_row(const Phase& phase, uint64_t row) noexcept;
  void run_op(const tenon_op& op, uint64_t row) noexcept;
  void norm(const tenon_op& op, const float* x, float* y, uint64_t n) noexcept;
  void rope_heads(const tenon_op& op, const float* x, uint64_t row, float* y, uint64_t n) noexcept;
  void angles(const tenon_op& op, uint64_t row, float* out) noexcept;
  void multiply_row(const tenon_op& op, uint64_t row, float* out, uint64_t n) noexcept;
  void gate_row(const tenon_op& op, uint64_t row, float* out, uint64_t n) noexcept;
  void sum_segments(const tenon_op& op, uint64_t row, float* out, uint64_t n) noexcept;
  void slice(const tenon_op& op, uint64_t row, float* out) noexcept;
  void concat(const tenon_op& op, uint64_t row, float* out) noexcept;
  void scale_by_position(const tenon_op& op, uint64_t row, float* out, uint64_t n) noexcept;
  void scale(const tenon_op& op, const float* x, float* y, uint64_t n) noexcept;
  void mix_streams(const tenon_op& op, uint64_t row, float* out) noexcept;
  static void sinkhorn(const tenon_sinkhorn_params& p, const float* x, float* out) noexcept;
  void pool(const tenon_op& op, uint64_t sequence, float* out, uint64_t n) noexcept;
  void softmax(const tenon_segments_params& p, const float* x, float* out, uint64_t n) noexcept;
  void ngram_rows(const tenon_op& op, uint64_t row, float* out) noexcept;
  void quantise_row(uint32_t slot, uint64_t row) noexcept;

  /// Work items from `item` on, `most` at most; returns how many.
  uint32_t run_linear(const Phase& phase, uint32_t item, uint32_t most, uint32_t thread) noexcept;
  void multiply(const PackedWeight& weight, const LinearInput& input, const ColumnBlock& block,
                float* y, uint32_t thread) noexcept;
  /// The values of `bias` from `first` on are those of column 0.
  void add_bias(uint32_t bias, uint64_t first, const ColumnBlock& block, float* y) noexcept;
  void apply(const RowOp& row, const ColumnBlock& block) noexcept;
  void finish(const LinearTask& task, const ColumnBlock& block) noexcept;
  void write_cache(const RowOp& row, const float* values, uint64_t token, uint64_t first_head,
                   uint64_t num_heads) noexcept;

  void run_attention(const Phase& phase, uint32_t item, uint32_t thread) noexcept;
  void run_select(const Phase& phase, uint32_t token, uint32_t thread) noexcept;
  void run_select_blocks(const Phase& phase, uint32_t item, uint32_t thread) noexcept;
  void run_compress(const Phase& phase, uint32_t token) noexcept;
  void run_attention_pools(const Phase& phase, uint32_t item, uint32_t thread) noexcept;
  void run_selected_attention(const Phase& phase, uint32_t item, uint32_t thread) noexcept;
  [[nodiscard]] AttentionArgs index_args(const tenon_op& op, uint32_t token, uint32_t first_head,
                                         uint32_t heads, uint32_t thread) const noexcept;
  [[nodiscard]] const uint8_t* const* cache_blocks(uint32_t group, uint32_t token) const noexcept {
    return x_.state_.blocks[group].data() +
           x_.state_.first_block[group][x_.state_.token_sequence[token]];
  }
  [[nodiscard]] AttentionBias bias_of(const Phase& phase, uint64_t first_head) const noexcept;

  /// Some columns or lanes of a sequence that an item of a recurrent phase is.
  struct RecurrentItem {
    const tenon_op& op;
    const tenon_step_sequence& sequence;
    uint32_t sequence_number;
    uint64_t chunk;  ///< of the columns, or a tile
  };
  /// The operation's part of the state before the step (NULL: zeros) and after it; may be the same.
  struct StatePlaces {
    const float* read;
    float* write;
  };
  [[nodiscard]] uint64_t recurrent_chunks(const tenon_op& op) const noexcept;
  [[nodiscard]] StatePlaces state_places(const RecurrentItem& item) const noexcept;
  void run_recurrent(const Phase& phase, uint32_t item, uint32_t thread) noexcept;
  float* begin_state(const RecurrentItem& item, uint64_t first, uint64_t count, uint64_t rows = 1,
                     uint64_t stride = 0) noexcept;
  [[nodiscard]] StateScan begin_scan(const RecurrentItem& item, const StateTiles& tiles,
                                     const StateTile& tile, uint64_t first_column) noexcept;
  void run_token_shift(const RecurrentItem& item) noexcept;
  void run_conv(const RecurrentItem& item) noexcept;
  void run_ssm_scan(const RecurrentItem& item) noexcept;
  void run_delta_rule(const RecurrentItem& item, uint32_t thread) noexcept;
  void run_wkv7(const RecurrentItem& item) noexcept;
  void run_wkv6(const RecurrentItem& item) noexcept;
  [[nodiscard]] StateTiles tiles_of(const tenon_op& op) const noexcept;

  void run_route(const Phase& phase, uint64_t row, uint32_t thread) noexcept;
  void run_gather(const Phase& phase, uint32_t item) noexcept;
  /// As run_linear.
  uint32_t run_experts(const Phase& phase, uint32_t item, uint32_t most, uint32_t thread) noexcept;
  void finish_experts(const Phase& phase, const ExpertTask& task, const ExpertRows& expert,
                      const ColumnBlock& block) noexcept;
  void sum_experts(const tenon_op& op, uint64_t row) noexcept;
  [[nodiscard]] uint32_t num_expert_items(const Phase& phase) const noexcept;
  [[nodiscard]] bool one_row_for_all(const Phase& phase) const noexcept;

  [[nodiscard]] uint32_t num_items(const Phase& phase) const noexcept;
  [[nodiscard]] uint64_t num_rows(uint32_t row_class) const noexcept;
  [[nodiscard]] float* f32_row(uint32_t slot, uint64_t row) const noexcept {
    return x_.activations_[slot].f32 + row * columns(slot);
  }
  /// Of a slot of i32, which has the memory of one of f32.
  [[nodiscard]] int32_t* i32_row(uint32_t slot, uint64_t row) const noexcept {
    return reinterpret_cast<int32_t*>(f32_row(slot, row));
  }
  [[nodiscard]] uint64_t columns(uint32_t slot) const noexcept {
    return x_.plan_.slots[slot].slot.columns;
  }
  /// A row of an activation, or a weight vector.
  [[nodiscard]] const float* operand(uint32_t slot, uint64_t row) const noexcept {
    const bool weight = x_.plan_.slots[slot].slot.kind == TENON_SLOT_WEIGHT;
    return weight ? vector(slot) : f32_row(slot, row);
  }
  /// A part of the position of a token.
  [[nodiscard]] int32_t position(uint64_t token, uint32_t part = 0) const noexcept {
    return x_.state_.step->positions[token * x_.program_.view().position_parts + part];
  }
  [[nodiscard]] const float* vector(uint32_t slot) const noexcept {
    return slot == TENON_NO_SLOT ? nullptr : x_.weights_[slot].vector;
  }

  Executable& x_;
  const Kernels& k_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace tenon::cpu
