// Checks every step before a backend uses it: counts, tokens, rows, bindings and block tables
// against the program. Throws ARGUMENT or LIMIT with a sentence.
#pragma once

#include <cstdint>
#include <span>

#include "abi/failure.h"
#include "abi/host_buffer.h"
#include "abi/program_copy.h"
#include "abi/sizes.h"
#include "abi/strided.h"

namespace tenon::backends {

/// Rows of an activation of this row class in a step.
inline uint32_t num_rows(const tenon_step& step, uint32_t row_class) noexcept {
  if (row_class == TENON_ROWS_OUTPUTS) return step.num_outputs;
  return row_class == TENON_ROWS_SEQUENCES ? step.num_sequences : step.num_tokens;
}

/// Most rows in any step. A sequence has at least one token.
inline uint32_t max_rows(const tenon_program& program, uint32_t row_class) noexcept {
  return row_class == TENON_ROWS_OUTPUTS ? program.max_outputs : program.max_tokens;
}

/// Memory that the step binds to a slot; null if unbound.
inline void* bound_memory(const tenon_step& step, uint32_t slot) noexcept {
  const Strided<tenon_binding> bindings = bindings_of(step);
  for (uint32_t i = 0; i < bindings.size(); ++i) {
    if (bindings[i].slot == slot) return bindings[i].data;
  }
  return nullptr;
}

/// Positions of a sequence in a group of a ProgramCopy: its own or, in a CROSS group, those of the
/// other text.
inline uint64_t num_positions(const tenon_step_sequence& sequence, const tenon_cache_group& group) {
  if (group.kind == TENON_CACHE_CROSS) return sequence.cross_positions;
  return uint64_t{sequence.past} + sequence.num_tokens;
}

/// Blocks in a sequence's table.
inline uint64_t num_blocks(const tenon_step_sequence& sequence, const tenon_cache_group& group) {
  return (num_positions(sequence, group) + group.block_tokens - 1) / group.block_tokens;
}

/// First block of a sequence that its step may read.
inline uint64_t first_block(const tenon_step_sequence& sequence, const tenon_cache_group& group) {
  if (group.kind == TENON_CACHE_WINDOW && group.stride > 1 &&
      group.block_tokens % group.stride == 0) {  // pools end with blocks
    return (sequence.past - sequence.past % group.stride) / group.block_tokens;
  }
  const bool all = group.window == 0 || sequence.past < group.window;
  return all ? 0 : (uint64_t{sequence.past} - group.window + 1) / group.block_tokens;
}

/// A sequence's blocks in a STATE group.
struct StateBlocks {
  uint32_t read;  ///< state after `past` tokens; TENON_NO_BLOCK means zeros
  uint32_t write;
};
inline StateBlocks state_blocks(const tenon_step_sequence& sequence, uint32_t group) {
  return {sequence.block_tables[group][0], sequence.block_tables[group][1]};
}

inline void check_step_counts(const tenon_program& program, const tenon_step& step) {
  if (step.num_tokens > program.max_tokens || step.num_outputs > program.max_outputs) {
    refuse(TENON_BACKEND_LIMIT, "step: {} tokens and {} outputs, at most {} and {}",
           step.num_tokens, step.num_outputs, program.max_tokens, program.max_outputs);
  }
  const bool present =
      (step.num_tokens == 0 || (step.tokens != nullptr && step.positions != nullptr)) &&
      (step.num_outputs == 0 || step.output_rows != nullptr) &&
      (step.num_sequences == 0 || step.sequences != nullptr) &&
      (step.num_bindings == 0 || step.bindings != nullptr) &&
      (program.num_groups == 0 || step.pools != nullptr);
  if (!present || step.num_pools != program.num_groups ||
      (step.num_sequences > 0 && step.sequence_size < sizeof(tenon_step_sequence)) ||
      (step.num_bindings > 0 && step.binding_size < sizeof(tenon_binding))) {
    refuse(TENON_BACKEND_ARGUMENT, "step: an array is missing or too small");
  }
  if (step.num_sequences > program.max_tokens) {
    refuse(TENON_BACKEND_LIMIT, "step: {} sequences, at most {}", step.num_sequences,
           program.max_tokens);
  }
}

/// Checks that earlier tokens are in the vocabulary or absent.
inline void check_earlier_tokens(const ProgramCopy& program, const tenon_step& step) {
  const uint64_t history = program.view().token_history;
  if (history == 0 || step.num_sequences == 0) return;
  if (step.earlier_tokens == nullptr) {
    refuse(TENON_BACKEND_ARGUMENT, "step: earlier_tokens are missing");
  }
  for (uint64_t i = 0; i < step.num_sequences * history; ++i) {
    const int32_t token = step.earlier_tokens[i];
    if (token == TENON_BEFORE_TEXT) continue;
    if (token >= 0 && static_cast<uint64_t>(token) < program.vocab()) continue;
    refuse(TENON_BACKEND_ARGUMENT, "step: earlier token {} of a vocabulary of {}", token,
           program.vocab());
  }
}

inline void check_step_tokens(const ProgramCopy& program, const tenon_step& step) {
  check_earlier_tokens(program, step);
  const bool looked_up = program.vocab() != ProgramCopy::kNoVocab;
  for (uint32_t t = 0; looked_up && t < step.num_tokens; ++t) {
    const int32_t token = step.tokens[t];
    if (token >= 0 && static_cast<uint64_t>(token) < program.vocab()) continue;
    refuse(TENON_BACKEND_ARGUMENT, "step: token {} of a vocabulary of {}", token, program.vocab());
  }
  const bool placed = program.max_positions() != ProgramCopy::kNoVocab;
  for (uint32_t t = 0; placed && t < step.num_tokens; ++t) {
    const int32_t position = step.positions[uint64_t{t} * program.view().position_parts];
    if (position >= 0 && static_cast<uint64_t>(position) < program.max_positions()) continue;
    refuse(TENON_BACKEND_ARGUMENT, "step: position {} of a table of {}", position,
           program.max_positions());
  }
  for (uint32_t r = 0; r < step.num_outputs; ++r) {
    if (step.output_rows[r] < step.num_tokens) continue;
    refuse(TENON_BACKEND_ARGUMENT, "step: output row {} of {} tokens", step.output_rows[r],
           step.num_tokens);
  }
}

///   draws  the device draws, so logits may be unbound
inline void check_step_bindings(const ProgramCopy& program, const tenon_step& step, bool draws) {
  for (const uint32_t number : program.bound()) {
    if (draws && number == program.view().logits) continue;
    const tenon_slot& slot = program.slots()[number];
    if (num_rows(step, slot.row_class) == 0 || bound_memory(step, number) != nullptr) continue;
    refuse(TENON_BACKEND_ARGUMENT, "step: \"{}\" is not bound", slot.name);
  }
}

/// Checks that a sequence that sees later tokens is whole in the step, and that a sequence that
/// attends to another text has one.
inline void check_step_masks(const ProgramCopy& program, const tenon_step& step) {
  const Strided<tenon_step_sequence> sequences = sequences_of(step);
  for (uint32_t s = 0; s < sequences.size(); ++s) {
    if (sequences[s].num_tokens == 0) continue;
    if (program.whole_sequences() && sequences[s].past != 0) {
      refuse(TENON_BACKEND_ARGUMENT,
             "step: sequence {} has {} tokens before the step, but symmetric attention", s,
             sequences[s].past);
    }
    if (program.reads_cross() && sequences[s].cross_positions == 0) {
      refuse(TENON_BACKEND_ARGUMENT, "step: sequence {} has no cross_positions to attend to", s);
    }
  }
}

/// Checks the blocks of a sequence's old and new state.
///   in_pool(block)  true if the pool has the block
template <typename InPool>
void check_state_blocks(const tenon_step_sequence& sequence, uint32_t number, uint32_t group,
                        const InPool& in_pool) {
  if (sequence.block_tables == nullptr || sequence.block_tables[group] == nullptr) {
    refuse(TENON_BACKEND_ARGUMENT, "step: sequence {} has no state in group {}", number, group);
  }
  const StateBlocks blocks = state_blocks(sequence, group);
  const bool zeros = blocks.read == TENON_NO_BLOCK && sequence.past == 0;
  if (in_pool(blocks.write) && (zeros || in_pool(blocks.read))) return;
  refuse(TENON_BACKEND_ARGUMENT,
         "step: sequence {} after {} tokens: state {} or {} is not in the pool of group {}", number,
         sequence.past, blocks.read, blocks.write, group);
}

/// Checks that the sequences cover the tokens in order, and that all blocks they read or write
/// exist.
///   holds(group, block)  true if the slab's buffer exists and contains the block
template <typename Holds>
void check_step_sequences(const tenon_program& program, const tenon_step& step,
                          const Holds& holds) {
  const Strided<tenon_step_sequence> sequences = sequences_of(step);
  uint64_t next = 0;
  for (uint32_t s = 0; s < sequences.size(); ++s) {
    const tenon_step_sequence& sequence = sequences[s];
    const uint64_t end = uint64_t{sequence.first_token} + sequence.num_tokens;
    if (end > step.num_tokens || uint64_t{sequence.past} + sequence.num_tokens > UINT32_MAX) {
      refuse(TENON_BACKEND_ARGUMENT, "step: sequence {} ends at token {} of {}", s, end,
             step.num_tokens);
    }
    if (sequence.first_token != next) {
      refuse(TENON_BACKEND_ARGUMENT, "step: sequence {} begins at token {}, not at {}", s,
             sequence.first_token, next);
    }
    next = end;
    for (uint32_t g = 0; sequence.num_tokens > 0 && g < program.num_groups; ++g) {
      const tenon_cache_group& group = groups_of(program)[g];
      const tenon_cache_pool& pool = step.pools[g];
      const uint32_t* table = sequence.block_tables == nullptr ? nullptr : sequence.block_tables[g];
      const uint64_t total = uint64_t{pool.num_slabs} * pool.blocks_per_slab;
      if (group.kind == TENON_CACHE_STATE) {
        check_state_blocks(sequence, s, g,
                           [&](uint32_t block) { return block < total && holds(g, block); });
        continue;
      }
      const uint64_t end_block = num_blocks(sequence, group);
      for (uint64_t b = first_block(sequence, group); b < end_block; ++b) {
        if (table == nullptr || table[b] >= total || !holds(g, table[b])) {
          refuse(TENON_BACKEND_ARGUMENT,
                 "step: block {} of sequence {} is not in the pool of {} of group {}", b, s, total,
                 g);
        }
      }
    }
  }
  if (program.num_groups > 0 && next != step.num_tokens) {
    refuse(TENON_BACKEND_ARGUMENT, "step: {} of {} tokens belong to a sequence", next,
           step.num_tokens);
  }
}

/// Runs all checks, for a backend with buffers in host memory.
///   block_bytes  [groups]
///   draws        the device draws (TENON_DEVICE_DRAWS)
inline void check_step(const ProgramCopy& program, const tenon_step& step,
                       std::span<const uint64_t> block_bytes, bool draws = false) {
  check_step_counts(program.view(), step);
  check_step_tokens(program, step);
  check_step_bindings(program, step, draws);
  check_step_masks(program, step);
  check_step_sequences(program.view(), step, [&](uint32_t group, uint32_t block) {
    return holds_block(step.pools[group], block, block_bytes[group]);
  });
}

}  // namespace tenon::backends
