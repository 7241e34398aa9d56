#include "model/program_runner.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace tenon {

ProgramRunner::ProgramRunner(const ModelProgram& program,
                             std::span<const std::shared_ptr<BlockPool>> pools,
                             std::shared_ptr<System> system)
    : program_(program),
      view_(program.program.view()),
      system_(std::move(system)),
      pools_(pools.begin(), pools.end()),
      cache_(program) {
  const uint32_t max_tokens = view_.max_tokens;
  const size_t num_groups = program.program.groups().size();
  pools_.resize(num_groups);
  tokens_.reserve(max_tokens);
  positions_.reserve(uint64_t{max_tokens} * view_.position_parts);
  earlier_tokens_.reserve(uint64_t{max_tokens} * view_.token_history);
  output_rows_.reserve(max_tokens);
  // A text has at least one token.
  sequences_.reserve(max_tokens);
  block_tables_.reserve(max_tokens * num_groups);
  slabs_.resize(num_groups);
  pool_views_.reserve(num_groups);
  if (program.adapters.numbers != kNoSlot) {
    adapters_.reserve(max_tokens);
    blanks_.resize(uint64_t{max_tokens} * program.adapters.num_slots);
  }
  if (program.media.rows != kNoSlot) {
    media_width_ = view_.slots[static_cast<uint32_t>(program.media.rows)].columns;
    media_rows_.reserve(max_tokens * media_width_);
    media_keep_.reserve(max_tokens);
  }
  bound_.reserve(view_.num_slots);
  bindings_.reserve(view_.num_slots);
}

void ProgramRunner::clear() {
  tokens_.clear();
  positions_.clear();
  earlier_tokens_.clear();
  output_rows_.clear();
  sequences_.clear();
  block_tables_.clear();
  cache_.clear();
  adapters_.clear();
  media_rows_.clear();
  media_keep_.clear();
  bound_.clear();
  names_drawn_ = false;
}

void ProgramRunner::add(const StepSlice& slice) {
  if (slice.past > slice.text.size()) {
    fail(Code::Argument, "step: a slice at {} of a text of {} tokens", slice.past,
         slice.text.size());
  }
  const uint32_t first = num_tokens();
  const auto num_guesses = static_cast<uint32_t>(slice.guesses.size());
  const uint32_t count = slice.num_tokens + num_guesses;
  const auto past = static_cast<uint32_t>(slice.past);
  const bool is_drawn = past == slice.text.size();  // the token is drawn by the step before
  const uint64_t num_known = slice.text.size() - past;
  if (slice.num_tokens == 0 || count > max_tokens() - first || slice.num_outputs > count ||
      (is_drawn ? count > 1 : slice.num_tokens > num_known) ||
      (num_guesses > 0 && slice.num_tokens != num_known)) {
    fail(Code::Internal, "step: {} tokens and {} outputs do not fit after {} of {}", count,
         slice.num_outputs, first, max_tokens());
  }
  if (is_drawn) {
    tokens_.push_back(-1 - static_cast<int32_t>(slice.drawn_row));
    names_drawn_ = true;
  } else {
    const auto pending = slice.text.subspan(past, slice.num_tokens);
    tokens_.insert(tokens_.end(), pending.begin(), pending.end());
    tokens_.insert(tokens_.end(), slice.guesses.begin(), slice.guesses.end());
  }
  if (!blanks_.empty()) adapters_.insert(adapters_.end(), count, static_cast<float>(slice.adapter));
  if (media_width_ != 0) add_media(slice, count);
  if (!slice.positions.empty()) {
    positions_.insert(positions_.end(), slice.positions.begin(), slice.positions.end());
  }
  // All parts of a text token's position are equal.
  for (uint32_t i = 0; i < count && slice.positions.empty(); ++i) {
    positions_.insert(positions_.end(), view_.position_parts, static_cast<int32_t>(past + i));
  }
  // Earlier tokens are known even while the next token is being drawn.
  for (uint32_t back = view_.token_history; back > 0; --back) {
    earlier_tokens_.push_back(back > past ? TENON_BEFORE_TEXT : slice.text[past - back]);
  }
  for (uint32_t i = count - slice.num_outputs; i < count; ++i) output_rows_.push_back(first + i);
  // Pointers stay valid: their memory was reserved.
  const uint32_t* const* tables = block_tables_.data() + block_tables_.size();
  const uint64_t positions =
      slice.private_positions == 0 ? slice.text.size() : slice.private_positions;
  for (uint32_t group = 0; group < pools_.size(); ++group) {
    block_tables_.push_back(slice.tables.empty() ? nullptr : slice.tables[group]);
    if (pools_[group] == nullptr) cache_.add(group, positions, past == 0);
  }
  sequences_.push_back({first, count, past, slice.source_size, tables});
}

/// Lays rows of pictures at the slice's tokens; guesses and drawn tokens are text.
void ProgramRunner::add_media(const StepSlice& slice, uint32_t count) {
  const size_t first = media_keep_.size();
  media_rows_.resize(media_rows_.size() + count * media_width_);
  media_keep_.resize(first + count, 1.0f);
  const uint64_t begin = slice.past;
  const uint64_t end = std::min<uint64_t>(begin + slice.num_tokens, slice.text.size());
  for (const RowsInText& one : slice.media) {
    const uint64_t from = std::max(begin, one.first);
    const uint64_t to = std::min(end, one.first + one.count);
    if (from >= to) continue;
    const size_t at = first + (from - begin);
    std::copy_n(one.rows.data() + (from - one.first) * media_width_, (to - from) * media_width_,
                media_rows_.data() + at * media_width_);
    std::fill_n(media_keep_.data() + at, to - from, 0.0f);
  }
}

void ProgramRunner::bind(uint32_t slot, float* values) {
  const auto bound = std::ranges::find(bound_, slot, &tenon_binding::slot);
  if (bound == bound_.end()) {
    bound_.push_back({slot, 0, values});
  } else {
    bound->data = values;
  }
}

uint64_t ProgramRunner::num_rows(uint32_t slot) const {
  const uint32_t row_class = view_.slots[slot].row_class;
  if (row_class == TENON_ROWS_TOKENS) return num_tokens();
  return row_class == TENON_ROWS_OUTPUTS ? num_outputs() : num_texts();
}

std::span<float> ProgramRunner::bind_own(uint32_t slot, std::string_view what) {
  const tenon_slot& info = view_.slots[slot];
  const uint64_t rows = num_rows(slot);
  const uint64_t bytes = std::max<uint64_t>(rows, 1) * info.columns * sizeof(float);
  Buffer& buffer = own_[slot];
  if (buffer.size() < bytes) buffer = Buffer(system_, bytes, what);
  auto* values = reinterpret_cast<float*>(buffer.data());
  bind(slot, values);
  return {values, rows * info.columns};
}

/// Backends write all results, except logits that they keep for draws.
void ProgramRunner::bind_unread() {
  for (const uint32_t slot : program_.program.results()) {
    if (num_rows(slot) == 0 || (slot == view_.logits && program_.executable->draws())) continue;
    const bool is_bound = std::ranges::find(bound_, slot, &tenon_binding::slot) != bound_.end();
    if (!is_bound) (void)bind_own(slot, "results that nobody reads");
  }
}

void ProgramRunner::fetch_rows(const uint32_t* cancel) {
  bindings_.assign(bound_.begin(), bound_.end());
  if (program_.fetcher == nullptr) return;
  program_.fetcher->fetch(step_, fetched_, cancel);
  const std::span<const tenon_binding> fetched = fetched_.bindings();
  bindings_.insert(bindings_.end(), fetched.begin(), fetched.end());
}

void ProgramRunner::lay_caches() {
  pool_views_.clear();
  for (uint32_t group = 0; group < pools_.size(); ++group) {
    if (pools_[group] != nullptr) {
      // Copied, because slabs without blocks may leave the pool while the step runs.
      pools_[group]->copy_slabs(slabs_[group]);
      pool_views_.push_back({slabs_[group].data(), static_cast<uint32_t>(slabs_[group].size()),
                             pools_[group]->blocks_per_slab()});
      continue;
    }
    cache_.make_room(group);
    pool_views_.push_back(cache_.pool(group));
    for (size_t text = 0; text < sequences_.size(); ++text) {
      block_tables_[text * pools_.size() + group] = cache_.table(group, text);
    }
  }
}

uint64_t ProgramRunner::submit(const uint32_t* cancel, uint64_t after) {
  step_.struct_size = sizeof(step_);
  step_.num_tokens = num_tokens();
  step_.num_outputs = num_outputs();
  step_.num_sequences = num_texts();
  step_.sequence_size = sizeof(tenon_step_sequence);
  step_.tokens = tokens_.data();
  step_.positions = positions_.data();
  step_.earlier_tokens = earlier_tokens_.data();
  step_.sequences = sequences_.data();
  step_.output_rows = output_rows_.data();
  bind_unread();
  if (!blanks_.empty()) {
    bind(static_cast<uint32_t>(program_.adapters.numbers), adapters_.data());
    bind(static_cast<uint32_t>(program_.adapters.blanks), blanks_.data());
  }
  if (media_width_ != 0) {
    bind(static_cast<uint32_t>(program_.media.rows), media_rows_.data());
    bind(static_cast<uint32_t>(program_.media.keep), media_keep_.data());
  }
  fetch_rows(cancel);
  lay_caches();
  step_.num_pools = static_cast<uint32_t>(pool_views_.size());
  step_.pools = pool_views_.data();
  step_.bindings = bindings_.data();
  step_.num_bindings = static_cast<uint32_t>(bindings_.size());
  step_.binding_size = sizeof(tenon_binding);
  step_.cancel = cancel;
  step_.after = names_drawn_ ? after : TENON_NO_TICKET;
  return program_.executable->submit(step_);
}

}  // namespace tenon
