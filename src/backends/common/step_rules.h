// What every step must satisfy before a backend touches it: counts, tokens, rows, bindings and
// block tables against the program. ARGUMENT or LIMIT with a sentence for what does not.
#pragma once

#include <cstdint>

#include "backends/common/failure.h"
#include "backends/common/sizes.h"
#include "backends/common/strided.h"

namespace tenon::backends {

/// Rows that an activation of this row class has in a step.
inline uint32_t num_rows(const tenon_step& step, uint32_t row_class) noexcept {
  if (row_class == TENON_ROWS_OUTPUTS) return step.num_outputs;
  return row_class == TENON_ROWS_SEQUENCES ? step.num_sequences : step.num_tokens;
}

/// The most that it can have in any step. A sequence brings a token at least.
inline uint32_t max_rows(const tenon_program& program, uint32_t row_class) noexcept {
  return row_class == TENON_ROWS_OUTPUTS ? program.max_outputs : program.max_tokens;
}

/// Where the step binds a slot; nullptr: nowhere.
inline void* bound_memory(const tenon_step& step, uint32_t slot) noexcept {
  const Strided<tenon_binding> bindings = bindings_of(step);
  for (uint32_t i = 0; i < bindings.size(); ++i) {
    if (bindings[i].slot == slot) return bindings[i].data;
  }
  return nullptr;
}

/// Blocks in the table of a sequence.
inline uint64_t num_blocks(const tenon_step_sequence& sequence, const tenon_cache_group& group) {
  const uint64_t positions = uint64_t{sequence.past} + sequence.num_tokens;
  return (positions + group.block_tokens - 1) / group.block_tokens;
}

/// The first block of a sequence that a step of it may read.
inline uint64_t first_block(const tenon_step_sequence& sequence, const tenon_cache_group& group) {
  const bool all = group.kind != TENON_CACHE_WINDOW || sequence.past < group.window;
  return all ? 0 : (uint64_t{sequence.past} - group.window + 1) / group.block_tokens;
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

inline void check_step_tokens(const tenon_program& program, const tenon_step& step) {
  const Strided<tenon_op> ops = ops_of(program);
  for (uint32_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind != TENON_OP_EMBED) continue;
    const uint64_t vocab = slots_of(program)[ops[i].inputs[0]].rows;
    for (uint32_t t = 0; t < step.num_tokens; ++t) {
      const int32_t token = step.tokens[t];
      if (token >= 0 && static_cast<uint64_t>(token) < vocab) continue;
      refuse(TENON_BACKEND_ARGUMENT, "step: token {} of a vocabulary of {}", token, vocab);
    }
  }
  for (uint32_t r = 0; r < step.num_outputs; ++r) {
    if (step.output_rows[r] < step.num_tokens) continue;
    refuse(TENON_BACKEND_ARGUMENT, "step: output row {} of {} tokens", step.output_rows[r],
           step.num_tokens);
  }
}

inline void check_step_bindings(const tenon_program& program, const tenon_step& step) {
  const auto check = [&](uint32_t number) {
    const tenon_slot& slot = slots_of(program)[number];
    if (num_rows(step, slot.row_class) == 0 || bound_memory(step, number) != nullptr) return;
    refuse(TENON_BACKEND_ARGUMENT, "step: \"{}\" is not bound", slot.name);
  };
  for (uint32_t i = 0; i < program.num_slots; ++i) {
    if (slots_of(program)[i].kind == TENON_SLOT_INPUT) check(i);
  }
  for (uint32_t i = 0; i < program.num_results; ++i) check(program.results[i]);
}

/// The tokens of each sequence follow those of the one before, and every block that it reads or
/// writes is there.
///   holds(group, block)  whether its slab's buffer is there and reaches so far
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
      for (uint64_t b = first_block(sequence, group); b < num_blocks(sequence, group); ++b) {
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

}  // namespace tenon::backends
