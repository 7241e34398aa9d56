#include "backends/gpu/step_data.h"

#include <algorithm>
#include <cstring>

#include "abi/ngram_hash.h"
#include "abi/step_rules.h"
#include "abi/strided.h"

namespace tenon::gpu {
namespace {

/// Entries in a sequence's block table; a state has a block to read and a block to write.
uint64_t table_entries_of(const tenon_step_sequence& sequence, const tenon_cache_group& group) {
  if (sequence.num_tokens == 0) return 0;
  return group.kind == TENON_CACHE_STATE ? 2 : backends::num_blocks(sequence, group);
}

uint32_t ngram_heads(const backends::ProgramCopy& program, const tenon_op& op) {
  return static_cast<uint32_t>(program.slots()[op.inputs[2]].rows);
}

}  // namespace

StepData::StepData(const backends::ProgramCopy& program) : program_(program) {
  ngram_rows_ = ngram_rows_before(static_cast<uint32_t>(program.ops().size()));
}

uint32_t StepData::ngram_rows_before(uint32_t op) const {
  uint32_t rows = 0;
  for (const tenon_op& earlier : program_.ops().first(op)) {
    if (earlier.kind == TENON_OP_NGRAM_ROWS) rows += ngram_heads(program_, earlier);
  }
  return rows;
}

StepData::Layout StepData::layout_of(const Counts& counts) const {
  Layout layout{};
  uint64_t at = 0;
  const auto take = [&at](uint64_t values, uint64_t size) {
    const uint64_t first = at;
    at += values * size;
    return first;
  };
  const tenon_program& program = program_.view();
  layout.tables = take(counts.table_entries, sizeof(Address));  // first, for 8-byte alignment
  layout.places = take(counts.tokens, sizeof(TokenPlace));
  layout.spans = take(counts.sequences, sizeof(SequenceSpan));
  layout.token_ids = take(counts.tokens, sizeof(int32_t));
  layout.positions = take(counts.tokens * program.position_parts, sizeof(int32_t));
  layout.output_rows = take(counts.outputs, sizeof(uint32_t));
  layout.table_starts = take(counts.sequences * program.num_groups, sizeof(uint32_t));
  layout.ngram_rows = take(counts.tokens * ngram_rows_, sizeof(uint32_t));
  layout.end = (at + 7) / 8 * 8;
  return layout;
}

uint64_t StepData::bytes(const tenon_step& step) {
  const Strided<tenon_step_sequence> sequences = sequences_of(step);
  uint64_t entries = 0;
  for (uint32_t s = 0; s < sequences.size(); ++s) {
    for (const tenon_cache_group& group : program_.groups()) {
      entries += table_entries_of(sequences[s], group);
    }
  }
  layout_ = layout_of({step.num_tokens, step.num_outputs, step.num_sequences, entries});
  return layout_.end;
}

uint64_t StepData::most_bytes(uint64_t table_entries) const {
  const tenon_program& program = program_.view();
  return layout_of({program.max_tokens, program.max_outputs, program.max_tokens, table_entries})
      .end;
}

StepHeader StepData::write(const tenon_step& step, const BlockAddress& block_address,
                           std::byte* block, Address address) const {
  const auto at = [&](uint64_t offset, auto* type) {
    return reinterpret_cast<decltype(type)>(block + offset);
  };
  auto* places = at(layout_.places, static_cast<TokenPlace*>(nullptr));
  auto* spans = at(layout_.spans, static_cast<SequenceSpan*>(nullptr));
  const Strided<tenon_step_sequence> sequences = sequences_of(step);
  std::fill_n(places, step.num_tokens, TokenPlace{});
  for (uint32_t s = 0; s < sequences.size(); ++s) {
    const tenon_step_sequence& sequence = sequences[s];
    spans[s] = {sequence.first_token, sequence.num_tokens, sequence.past, sequence.cross_positions};
    for (uint32_t i = 0; i < sequence.num_tokens; ++i) {
      places[sequence.first_token + i] = {s, sequence.past + i};
    }
  }
  const auto copy = [&](uint64_t offset, const void* from, uint64_t bytes) {
    if (bytes > 0) std::memcpy(block + offset, from, bytes);
  };
  copy(layout_.token_ids, step.tokens, uint64_t{step.num_tokens} * sizeof(int32_t));
  copy(layout_.positions, step.positions,
       uint64_t{step.num_tokens} * program_.view().position_parts * sizeof(int32_t));
  copy(layout_.output_rows, step.output_rows, uint64_t{step.num_outputs} * sizeof(uint32_t));
  write_tables(step, block_address, at(layout_.table_starts, static_cast<uint32_t*>(nullptr)),
               at(layout_.tables, static_cast<Address*>(nullptr)));
  write_ngram_rows(step, at(layout_.ngram_rows, static_cast<uint32_t*>(nullptr)));

  StepHeader header{};
  header.tokens = step.num_tokens;
  header.outputs = step.num_outputs;
  header.sequences = step.num_sequences;
  header.groups = program_.view().num_groups;
  header.token_ids = address + layout_.token_ids;
  header.positions = address + layout_.positions;
  header.output_rows = address + layout_.output_rows;
  header.places = address + layout_.places;
  header.spans = address + layout_.spans;
  header.table_starts = address + layout_.table_starts;
  header.tables = address + layout_.tables;
  header.ngram_rows = address + layout_.ngram_rows;
  return header;
}

void StepData::write_tables(const tenon_step& step, const BlockAddress& block_address,
                            uint32_t* starts, Address* tables) const {
  const Strided<tenon_step_sequence> sequences = sequences_of(step);
  uint32_t next = 0;
  for (uint32_t s = 0; s < sequences.size(); ++s) {
    const tenon_step_sequence& sequence = sequences[s];
    for (uint32_t g = 0; g < program_.groups().size(); ++g) {
      const tenon_cache_group& group = program_.groups()[g];
      const auto entries = static_cast<uint32_t>(table_entries_of(sequence, group));
      *starts++ = next;
      if (entries > 0 && group.kind == TENON_CACHE_STATE) {
        const backends::StateBlocks blocks = backends::state_blocks(sequence, g);
        const bool zeros = blocks.read == TENON_NO_BLOCK;
        tables[next] = zeros ? 0 : block_address(g, blocks.read);
        tables[next + 1] = block_address(g, blocks.write);
      } else if (entries > 0) {
        // Blocks that no token reads may be missing.
        const uint64_t first = backends::first_block(sequence, group);
        for (uint32_t b = 0; b < entries; ++b) {
          const uint32_t number = sequence.block_tables[g][b];
          tables[next + b] = b < first ? 0 : block_address(g, number);
        }
      }
      next += entries;
    }
  }
}

void StepData::write_ngram_rows(const tenon_step& step, uint32_t* rows) const {
  const Strided<tenon_step_sequence> sequences = sequences_of(step);
  for (const tenon_op& op : program_.ops()) {
    if (op.kind != TENON_OP_NGRAM_ROWS) continue;
    const backends::NgramNumbers numbers = backends::ngram_numbers(program_, op);
    const auto heads = program_.integers(op.inputs[2]);
    const uint32_t num_heads = ngram_heads(program_, op);
    for (uint32_t s = 0; s < sequences.size(); ++s) {
      for (uint32_t i = 0; i < sequences[s].num_tokens; ++i) {
        const auto hashes =
            backends::ngram_hashes(step, program_.view().token_history, s, i, numbers);
        uint32_t* row = rows + uint64_t{sequences[s].first_token + i} * num_heads;
        for (uint32_t head = 0; head < num_heads; ++head) {
          row[head] =
              static_cast<uint32_t>(backends::ngram_row(backends::ngram_head(heads, head), hashes));
        }
      }
    }
    rows += uint64_t{step.num_tokens} * num_heads;
  }
}

}  // namespace tenon::gpu
