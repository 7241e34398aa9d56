// The arrays of one step, filled from slices of sequences and used again for the next. Which slices
// go into a step is decided by the engine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/sequence.h"
#include "kv/block_pool.h"
#include "tenon/backend.h"

namespace tenon {

/// All memory is allocated by the constructor, but for the list of slabs when pools grow.
class StepBuilder {
 public:
  /// Steps of the program, whose one result are logits and whose inputs are rows of tables.
  StepBuilder(const tenon_program& program, std::span<const std::shared_ptr<BlockPool>> pools);

  /// Begins an empty step.
  void clear();
  /// Adds the next `num_tokens` >= 1 tokens of a prepared sequence, from begun() on; logits are wanted
  /// for the last num_outputs of them.
  ///   drawn_row  where the text ends before: the output row of the step before this one whose draw is
  ///              the token
  void add(const Sequence& sequence, uint32_t num_tokens, uint32_t num_outputs,
           uint32_t drawn_row = 0);
  /// What is known of the step: tokens, positions, earlier tokens, sequences, output rows.
  [[nodiscard]] const tenon_step& text();
  /// The step; valid until the next clear() or until a sequence or a pool changes.
  ///   logits  [num_outputs(), vocab] f32; null: not wanted
  ///   after   ticket of the step before, or TENON_NO_TICKET when that has ended
  ///   inputs  one for each input of the program
  [[nodiscard]] const tenon_step& finish(float* logits, const uint32_t* cancel,
                                         uint64_t after = TENON_NO_TICKET,
                                         std::span<const tenon_binding> inputs = {});

  [[nodiscard]] uint32_t num_tokens() const { return static_cast<uint32_t>(tokens_.size()); }
  [[nodiscard]] uint32_t num_outputs() const { return static_cast<uint32_t>(output_rows_.size()); }
  [[nodiscard]] uint32_t max_tokens() const { return max_tokens_; }
  /// Whether a token is what the step before draws.
  [[nodiscard]] bool names_drawn() const { return names_drawn_; }

 private:
  uint32_t max_tokens_;
  uint32_t position_parts_;
  uint32_t token_history_;
  std::vector<std::shared_ptr<BlockPool>> pools_;
  std::vector<int32_t> tokens_;                    // [T]
  std::vector<int32_t> positions_;                 // [T, position_parts]
  std::vector<int32_t> earlier_tokens_;            // [sequences, token_history]
  std::vector<uint32_t> output_rows_;              // [R]
  std::vector<tenon_step_sequence> sequences_;     // [sequences]
  std::vector<const uint32_t*> block_tables_;      // [sequences, groups]
  std::vector<std::vector<tenon_buffer*>> slabs_;  // [groups, slabs]
  std::vector<tenon_cache_pool> pool_views_;       // [groups]
  bool names_drawn_ = false;
  uint32_t logits_slot_;
  std::vector<tenon_binding> bindings_;
  tenon_step step_{};
};

}  // namespace tenon
