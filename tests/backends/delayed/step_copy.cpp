#include "backends/delayed/step_copy.h"

namespace tenon::delayed {
namespace {

/// Entries of a block table; 0 for groups whose entries the wrapped backend refuses anyway.
uint64_t table_entries(const tenon_step_sequence& sequence, const tenon_cache_group& group) {
  if (group.kind == TENON_CACHE_STATE) return 2;
  const uint64_t positions = group.kind == TENON_CACHE_CROSS && sequence.cross_positions > 0
                                 ? sequence.cross_positions
                                 : uint64_t{sequence.past} + sequence.num_tokens;
  return (positions + group.block_tokens - 1) / group.block_tokens;
}

}  // namespace

void StepCopy::check(const tenon_step& step, const StepShape& shape) {
  const bool present =
      (step.num_tokens == 0 || (step.tokens != nullptr && step.positions != nullptr)) &&
      (step.num_outputs == 0 || step.output_rows != nullptr) &&
      (step.num_sequences == 0 || (step.sequences != nullptr &&
                                   (shape.token_history == 0 || step.earlier_tokens != nullptr))) &&
      (step.num_bindings == 0 || step.bindings != nullptr) &&
      step.num_pools == shape.groups.size() && (step.num_pools == 0 || step.pools != nullptr);
  if (!present) backends::refuse(TENON_BACKEND_ARGUMENT, "step: an array is missing");
}

void StepCopy::copy_sequences(const StepShape& shape) {
  sequences_ = sequences_of(step_).copies();
  tables_.resize(sequences_.size());
  blocks_.reserve(sequences_.size() * shape.groups.size());
  for (size_t s = 0; s < sequences_.size(); ++s) {
    tenon_step_sequence& sequence = sequences_[s];
    for (size_t g = 0; g < shape.groups.size(); ++g) {
      const uint32_t* table = sequence.block_tables == nullptr ? nullptr : sequence.block_tables[g];
      const uint64_t count = table == nullptr ? 0 : table_entries(sequence, shape.groups[g]);
      blocks_.emplace_back(table, table + count);
      tables_[s].push_back(table == nullptr ? nullptr : blocks_.back().data());
    }
    sequence.block_tables = tables_[s].data();
  }
}

void StepCopy::point() {
  step_.struct_size = sizeof(step_);
  step_.tokens = tokens_.data();
  step_.positions = positions_.data();
  step_.earlier_tokens = earlier_tokens_.data();
  step_.output_rows = output_rows_.data();
  step_.bindings = bindings_.data();
  step_.binding_size = sizeof(tenon_binding);
  step_.sequences = sequences_.data();
  step_.sequence_size = sizeof(tenon_step_sequence);
  step_.pools = pools_.data();
}

DrawCopy::DrawCopy(const tenon_draw* draws, uint32_t num_draws, uint32_t draw_size,
                   uint64_t vocab) {
  if (num_draws > 0 && (draws == nullptr || draw_size < sizeof(tenon_draw))) {
    backends::refuse(TENON_BACKEND_ARGUMENT, "draw: the draws are missing or too small");
  }
  draws_ = Strided<tenon_draw>(draws, num_draws, draw_size).copies();
  for (tenon_draw& draw : draws_) {
    if (draw.allowed != nullptr) {
      allowed_.emplace_back(draw.allowed, draw.allowed + (vocab + 63) / 64);
      draw.allowed = allowed_.back().data();
    }
    if (draw.num_biases > 0 && draw.biases != nullptr) {
      biases_.emplace_back(draw.biases, draw.biases + draw.num_biases);
      draw.biases = biases_.back().data();
    }
  }
}

}  // namespace tenon::delayed
