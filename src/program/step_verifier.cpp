#include <map>
#include <set>
#include <vector>

#include "abi/step_rules.h"
#include "base/error.h"
#include "program/ops.h"
#include "program/program.h"

namespace tenon {
namespace {

template <typename... Args>
void require(bool holds, fmt::format_string<Args...> text, Args&&... args) {
  if (!holds) fail(Code::Internal, text, std::forward<Args>(args)...);
}

void check_header(const tenon_program& program, const tenon_step& step) {
  require(step.struct_size >= sizeof(tenon_step), "step: struct_size {} is too small",
          step.struct_size);
  require(step.num_tokens <= program.max_tokens, "step: {} tokens, at most {}", step.num_tokens,
          program.max_tokens);
  require(step.num_outputs <= program.max_outputs, "step: {} outputs, at most {}", step.num_outputs,
          program.max_outputs);
  require(step.num_pools == program.num_groups, "step: {} pools for {} cache groups",
          step.num_pools, program.num_groups);
  require(step.num_tokens == 0 || (step.tokens != nullptr && step.positions != nullptr),
          "step: tokens or positions are missing");
  require(step.num_outputs == 0 || step.output_rows != nullptr, "step: output_rows are missing");
  require(step.num_sequences == 0 ||
              (step.sequences != nullptr && step.sequence_size >= sizeof(tenon_step_sequence) &&
               step.sequence_size % alignof(tenon_step_sequence) == 0),
          "step: sequences are missing or too small");
  require(step.num_pools == 0 || step.pools != nullptr, "step: pools are missing");
}

void check_positions(const tenon_step& step, uint32_t parts, uint64_t rows) {
  for (uint32_t t = 0; t < step.num_tokens; ++t) {
    const int32_t position = step.positions[uint64_t{t} * parts];
    require(position >= 0 && static_cast<uint64_t>(position) < rows,
            "step: position {} at {} is outside a table of {}", position, t, rows);
  }
}

/// Earlier tokens are in the vocabulary, or absent.
void check_earlier_tokens(const tenon_program& program, const tenon_step& step) {
  const uint64_t history = program.token_history;
  if (history == 0 || step.num_sequences == 0) return;
  require(step.earlier_tokens != nullptr, "step: earlier_tokens are missing");
  for (uint64_t i = 0; i < step.num_sequences * history; ++i) {
    const int32_t token = step.earlier_tokens[i];
    require(token >= 0 || token == TENON_BEFORE_TEXT, "step: earlier token {} of sequence {}",
            token, i / history);
  }
}

void check_tokens(const tenon_program& program, const tenon_step& step) {
  check_earlier_tokens(program, step);
  const Strided<tenon_op> ops = ops_of(program);
  const Strided<tenon_slot> slots = slots_of(program);
  for (uint32_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind != TENON_OP_EMBED) continue;
    const uint64_t vocab = slots[ops[i].inputs[0]].rows;
    if (ops[i].params.embed.source == TENON_EMBED_POSITIONS) {
      check_positions(step, program.position_parts, vocab);
      continue;
    }
    for (uint32_t t = 0; t < step.num_tokens; ++t) {
      const int32_t token = step.tokens[t];
      require(token >= 0 && static_cast<uint64_t>(token) < vocab,
              "step: token {} at {} is outside the vocabulary of {}", token, t, vocab);
    }
  }
  for (uint32_t r = 0; r < step.num_outputs; ++r) {
    require(step.output_rows[r] < step.num_tokens, "step: output row {} of {} tokens",
            step.output_rows[r], step.num_tokens);
  }
}

/// Inputs and results with rows have memory.
void check_bindings(const tenon_program& program, const tenon_step& step) {
  require(step.num_bindings == 0 ||
              (step.bindings != nullptr && step.binding_size >= sizeof(tenon_binding) &&
               step.binding_size % alignof(tenon_binding) == 0),
          "step: bindings are missing or too small");
  const Strided<tenon_slot> slots = slots_of(program);
  const Strided<tenon_binding> bindings = bindings_of(step);
  std::set<uint32_t> wanted;
  for (uint32_t i = 0; i < slots.size(); ++i) {
    if (slots[i].kind == TENON_SLOT_INPUT) wanted.insert(i);
  }
  wanted.insert(program.results, program.results + program.num_results);
  for (uint32_t i = 0; i < bindings.size(); ++i) {
    const uint32_t slot = bindings[i].slot;
    require(wanted.erase(slot) == 1, "step: binding {}: slot {} takes none, or has one", i, slot);
    require(bindings[i].data != nullptr || backends::num_rows(step, slots[slot].row_class) == 0,
            "step: binding {}: no memory for \"{}\"", i, slots[slot].name);
  }
  for (const uint32_t slot : wanted) {
    require(backends::num_rows(step, slots[slot].row_class) == 0, "step: \"{}\" is not bound",
            slots[slot].name);
  }
}

/// Every token belongs to exactly one sequence.
void check_cover(const tenon_step& step, const Strided<tenon_step_sequence>& sequences) {
  std::vector<bool> covered(step.num_tokens, false);
  uint64_t num_covered = 0;
  for (uint32_t s = 0; s < sequences.size(); ++s) {
    const tenon_step_sequence& sequence = sequences[s];
    const uint64_t end = uint64_t{sequence.first_token} + sequence.num_tokens;
    require(end <= step.num_tokens, "step: sequence {} ends at token {} of {}", s, end,
            step.num_tokens);
    for (uint64_t t = sequence.first_token; t < end; ++t) {
      require(!covered[t], "step: token {} belongs to two sequences", t);
      covered[t] = true;
    }
    num_covered += sequence.num_tokens;
  }
  require(num_covered == step.num_tokens, "step: {} of {} tokens belong to a sequence", num_covered,
          step.num_tokens);
}

/// Checks like backends::check_step_masks.
void check_masks(const tenon_program& program, const Strided<tenon_step_sequence>& sequences) {
  const bool whole = backends::has_mask(program, TENON_MASK_SYMMETRIC);
  const bool cross = backends::has_mask(program, TENON_MASK_CROSS);
  for (uint32_t s = 0; s < sequences.size(); ++s) {
    if (sequences[s].num_tokens == 0) continue;
    require(!whole || sequences[s].past == 0, "step: sequence {} is not whole, it has {} before", s,
            sequences[s].past);
    require(!cross || sequences[s].cross_positions > 0, "step: sequence {} has no cross_positions",
            s);
  }
}

/// A state is read from one block and written to the same or another; no other sequence of the step
/// may use a written block.
void check_states(uint32_t number, const tenon_step& step,
                  const Strided<tenon_step_sequence>& sequences) {
  const tenon_cache_pool& pool = step.pools[number];
  const uint64_t num_blocks = uint64_t{pool.num_slabs} * pool.blocks_per_slab;
  require(pool.num_slabs == 0 || pool.slabs != nullptr, "step: cache group {}: slabs are missing",
          number);
  std::map<uint32_t, uint32_t> writers;  // block -> sequence
  for (uint32_t s = 0; s < sequences.size(); ++s) {
    const tenon_step_sequence& sequence = sequences[s];
    if (sequence.num_tokens == 0) continue;
    require(sequence.block_tables != nullptr && sequence.block_tables[number] != nullptr,
            "step: sequence {} has no block table for cache group {}", s, number);
    const backends::StateBlocks blocks = backends::state_blocks(sequence, number);
    require(blocks.read != TENON_NO_BLOCK || sequence.past == 0,
            "step: sequence {}: no state of cache group {} after {} tokens", s, number,
            sequence.past);
    require(blocks.read == TENON_NO_BLOCK || blocks.read < num_blocks,
            "step: sequence {}: block {} of a pool of {}", s, blocks.read, num_blocks);
    require(blocks.write < num_blocks, "step: sequence {}: block {} of a pool of {}", s,
            blocks.write, num_blocks);
    require(writers.emplace(blocks.write, s).second,
            "step: block {} of cache group {} is written twice", blocks.write, number);
  }
  for (uint32_t s = 0; s < sequences.size(); ++s) {
    if (sequences[s].num_tokens == 0) continue;
    const auto writer = writers.find(backends::state_blocks(sequences[s], number).read);
    require(writer == writers.end() || writer->second == s,
            "step: sequence {}: another writes block {} of cache group {}", s,
            backends::state_blocks(sequences[s], number).read, number);
  }
}

void check_blocks(const tenon_cache_group& group, uint32_t number, const tenon_step& step,
                  const Strided<tenon_step_sequence>& sequences) {
  if (group.kind == TENON_CACHE_STATE) return check_states(number, step, sequences);
  const tenon_cache_pool& pool = step.pools[number];
  const uint64_t num_blocks = uint64_t{pool.num_slabs} * pool.blocks_per_slab;
  require(pool.num_slabs == 0 || pool.slabs != nullptr, "step: cache group {}: slabs are missing",
          number);
  std::set<uint32_t> written;
  for (uint32_t s = 0; s < sequences.size(); ++s) {
    const tenon_step_sequence& sequence = sequences[s];
    const uint64_t positions = uint64_t{sequence.past} + sequence.num_tokens;
    require(positions <= UINT32_MAX, "step: sequence {} has {} positions", s, positions);
    if (sequence.num_tokens == 0) continue;
    require(sequence.block_tables != nullptr && sequence.block_tables[number] != nullptr,
            "step: sequence {} has no block table for cache group {}", s, number);
    const uint64_t first = backends::first_block(sequence, group);
    for (uint64_t b = 0; b < backends::num_blocks(sequence, group); ++b) {
      const uint32_t block = sequence.block_tables[number][b];
      if (block == TENON_NO_BLOCK) {
        require(b < first, "step: sequence {}: block {} of cache group {} is missing", s, b,
                number);
        continue;
      }
      require(block < num_blocks, "step: sequence {}: block {} of a pool of {}", s, block,
              num_blocks);
      const bool only_read =
          group.kind == TENON_CACHE_CROSS || b < sequence.past / group.block_tokens;
      if (only_read) continue;
      require(written.insert(block).second, "step: block {} of cache group {} is written twice",
              block, number);
    }
  }
}

}  // namespace

void verify_step(const tenon_program& program, const tenon_step& step) {
  check_header(program, step);
  check_tokens(program, step);
  check_bindings(program, step);
  const Strided<tenon_step_sequence> sequences = sequences_of(step);
  check_cover(step, sequences);
  check_masks(program, sequences);
  const Strided<tenon_cache_group> groups = groups_of(program);
  for (uint32_t g = 0; g < groups.size(); ++g) {
    tenon_cache_group group = groups[g];
    const bool own = group.kind == TENON_CACHE_CROSS && backends::writes_group(program, g);
    if (own) group.kind = TENON_CACHE_FULL;  // an encoder's group: its own positions
    check_blocks(group, g, step, sequences);
  }
}

}  // namespace tenon
