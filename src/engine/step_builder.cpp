// StepBuilder: from sequences to the plain arrays of tenon_step.
#include "engine/step_builder.h"

#include <algorithm>

#include "base/error.h"

namespace tenon {

StepBuilder::StepBuilder(const tenon_program& program,
                         std::span<const std::shared_ptr<BlockPool>> pools)
    : max_tokens_(program.max_tokens),
      position_parts_(program.position_parts),
      token_history_(program.token_history),
      pools_(pools.begin(), pools.end()),
      logits_slot_(program.logits) {
  const uint32_t max_tokens = max_tokens_;
  tokens_.reserve(max_tokens);
  positions_.reserve(uint64_t{max_tokens} * position_parts_);
  earlier_tokens_.reserve(uint64_t{max_tokens} * token_history_);
  output_rows_.reserve(max_tokens);
  // A sequence brings a token at least.
  sequences_.reserve(max_tokens);
  block_tables_.reserve(max_tokens * pools.size());
  slabs_.resize(pools.size());
  pool_views_.reserve(pools.size());
  bindings_.reserve(program.num_slots);
}

void StepBuilder::clear() {
  tokens_.clear();
  positions_.clear();
  earlier_tokens_.clear();
  output_rows_.clear();
  sequences_.clear();
  block_tables_.clear();
  names_drawn_ = false;
}

void StepBuilder::add(const Sequence& sequence, uint32_t num_tokens, uint32_t num_outputs,
                      uint32_t drawn_row) {
  const uint32_t first = this->num_tokens();
  const auto past = static_cast<uint32_t>(sequence.begun());
  const bool is_drawn = past == sequence.size();  // the text goes on with what is drawn before
  if (num_tokens == 0 || num_tokens > max_tokens_ - first || num_outputs > num_tokens ||
      (is_drawn ? num_tokens > 1 : num_tokens > sequence.size() - past)) {
    fail(Code::Internal, "step: {} tokens and {} outputs do not fit after {} of {}", num_tokens,
         num_outputs, first, max_tokens_);
  }
  if (is_drawn) {
    tokens_.push_back(-1 - static_cast<int32_t>(drawn_row));
    names_drawn_ = true;
  } else {
    const auto pending = sequence.tokens().subspan(past, num_tokens);
    tokens_.insert(tokens_.end(), pending.begin(), pending.end());
  }
  // All parts of the position of a text token are the same.
  for (uint32_t i = 0; i < num_tokens; ++i) {
    positions_.insert(positions_.end(), position_parts_, static_cast<int32_t>(past + i));
  }
  // These are known, also where the next one is still being drawn.
  for (uint32_t back = token_history_; back > 0; --back) {
    earlier_tokens_.push_back(back > past ? TENON_BEFORE_TEXT : sequence.tokens()[past - back]);
  }
  for (uint32_t i = num_tokens - num_outputs; i < num_tokens; ++i)
    output_rows_.push_back(first + i);
  // The table pointers do not move: their room was reserved.
  const uint32_t* const* tables = block_tables_.data() + block_tables_.size();
  for (const auto& table : sequence.tables()) block_tables_.push_back(table->entries().data());
  const auto source_size = static_cast<uint32_t>(sequence.source().size());
  sequences_.push_back({first, num_tokens, past, source_size, tables});
}

const tenon_step& StepBuilder::text() {
  step_.struct_size = sizeof(step_);
  step_.num_tokens = num_tokens();
  step_.num_outputs = num_outputs();
  step_.num_sequences = static_cast<uint32_t>(sequences_.size());
  step_.sequence_size = sizeof(tenon_step_sequence);
  step_.tokens = tokens_.data();
  step_.positions = positions_.data();
  step_.earlier_tokens = earlier_tokens_.data();
  step_.sequences = sequences_.data();
  step_.output_rows = output_rows_.data();
  return step_;
}

const tenon_step& StepBuilder::finish(float* logits, const uint32_t* cancel, uint64_t after,
                                      std::span<const tenon_binding> inputs) {
  pool_views_.clear();
  for (size_t i = 0; i < pools_.size(); ++i) {
    // A copy: slabs without blocks may leave the pool while the step runs.
    pools_[i]->copy_slabs(slabs_[i]);
    pool_views_.push_back(
        {slabs_[i].data(), static_cast<uint32_t>(slabs_[i].size()), pools_[i]->blocks_per_slab()});
  }
  (void)text();
  step_.num_pools = static_cast<uint32_t>(pool_views_.size());
  step_.pools = pool_views_.data();
  bindings_.assign(inputs.begin(), inputs.end());
  if (logits != nullptr) bindings_.push_back({logits_slot_, 0, logits});
  step_.bindings = bindings_.data();
  step_.num_bindings = static_cast<uint32_t>(bindings_.size());
  step_.binding_size = sizeof(tenon_binding);
  step_.cancel = cancel;
  step_.after = names_drawn_ ? after : TENON_NO_TICKET;
  return step_;
}

}  // namespace tenon
