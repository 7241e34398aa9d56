// EmbeddingStep: from texts to the plain arrays of tenon_step, and their cache.
#include "engine/embedding_step.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "model/placed_executable.h"

namespace tenon {
namespace {

/// Texts fill a step up to here: more tokens make none of them cheaper, and take more memory.
constexpr uint32_t kStepTokens = 512;
/// Several short texts may leave their last blocks nearly empty, up to so many times the blocks of a
/// full step.
constexpr uint64_t kSpareBlocks = 2;

}  // namespace

EmbeddingStep::EmbeddingStep(std::shared_ptr<const Model> model)
    : model_(std::move(model)),
      program_(model_->program().view()),
      groups_(model_->program().groups()),
      most_tokens_(std::min(program_.max_tokens, std::max(model_->options().slice, kStepTokens))),
      needed_(groups_.size()),
      cache_(groups_.size()),
      held_(groups_.size()),
      slabs_(groups_.size()) {
  (void)model_->row_executable();  // throws when there is none
  const std::span<const tenon_slot> slots = model_->program().slots();
  for (uint32_t i = 0; i < program_.num_results; ++i) {
    const uint32_t slot = program_.results[i];
    (slots[slot].row_class == TENON_ROWS_TOKENS ? token_slot_ : text_slot_) = slot;
  }
  if (token_slot_ == kNoSlot) fail(Code::Internal, "embedder: the program has no rows of tokens");
  width_ = static_cast<uint32_t>(slots[token_slot_].columns);
  if (text_slot_ != kNoSlot) text_columns_ = static_cast<uint32_t>(slots[text_slot_].columns);
  for (uint32_t slot = 0; slot < slots.size(); ++slot) {
    if (slots[slot].kind != TENON_SLOT_INPUT || is_table(slot)) continue;
    type_slot_ = slot;
    types_ = static_cast<uint32_t>(slots[slot].columns);
  }
}

bool EmbeddingStep::is_table(uint32_t slot) const {
  return std::ranges::any_of(model_->demand_tables(), [slot](const DemandTable& table) {
    return static_cast<uint32_t>(table.slot) == slot;
  });
}

EmbeddingStep::~EmbeddingStep() {
  const std::scoped_lock turn(model_->turn().mutex());  // buffers go back to the device
  cache_.clear();
}

uint64_t EmbeddingStep::blocks_of(uint32_t group, uint64_t tokens) const {
  const tenon_cache_group& info = groups_[group];
  if (info.kind == TENON_CACHE_STATE) return 1;
  return (tokens + info.block_tokens - 1) / info.block_tokens;
}

void EmbeddingStep::clear() {
  parts_.clear();
  tokens_.clear();
  positions_.clear();
  earlier_tokens_.clear();
  type_rows_.clear();
  output_rows_.clear();
  std::ranges::fill(needed_, 0);
}

bool EmbeddingStep::add(const EmbedderText& text) {
  const bool alone = parts_.empty();
  const size_t most = alone && model_->spec().sees_ahead() ? program_.max_tokens : most_tokens_;
  if (text.tokens.size() > most - std::min<size_t>(most, tokens_.size())) return false;
  for (uint32_t group = 0; group < groups_.size() && !alone; ++group) {
    const uint64_t room = kSpareBlocks * blocks_of(group, most_tokens_);
    const bool state = groups_[group].kind == TENON_CACHE_STATE;
    const uint64_t blocks = needed_[group] + blocks_of(group, text.tokens.size());
    if (blocks > (state ? most_tokens_ / 16 + 1 : room)) return false;
  }
  put(text, 0, static_cast<uint32_t>(text.tokens.size()));
  return true;
}

size_t EmbeddingStep::set_slice(const EmbedderText& text, size_t begin) {
  clear();
  const size_t count = std::min<size_t>(text.tokens.size() - begin, program_.max_tokens);
  put(text, begin, static_cast<uint32_t>(count));
  return count;
}

void EmbeddingStep::put(const EmbedderText& text, size_t begin, uint32_t count) {
  const auto first = static_cast<uint32_t>(tokens_.size());
  const auto size = static_cast<uint32_t>(text.tokens.size());
  const auto past = static_cast<uint32_t>(begin);
  for (size_t i = begin; i < begin + count; ++i) {
    tokens_.push_back(text.tokens[i]);
    positions_.insert(positions_.end(), program_.position_parts, static_cast<int32_t>(i));
    const uint32_t type = i < text.second_begin ? 0 : 1;
    for (uint32_t j = 0; j < types_; ++j) type_rows_.push_back(j == type ? 1.0f : 0.0f);
  }
  for (size_t back = program_.token_history; back > 0; --back) {
    earlier_tokens_.push_back(back > begin ? TENON_BEFORE_TEXT : text.tokens[begin - back]);
  }
  Part part{first, count, past, size, static_cast<uint32_t>(parts_.size())};
  const bool rows_wanted = text_slot_ != kNoSlot &&
                           model_->program().slots()[text_slot_].row_class == TENON_ROWS_OUTPUTS;
  if (rows_wanted) {
    part.text_row = static_cast<uint32_t>(output_rows_.size());
    // A classifier of a decoder reads the last token.
    if (begin + count == size) output_rows_.push_back(first + count - 1);
  }
  for (uint32_t group = 0; group < groups_.size(); ++group)
    needed_[group] += blocks_of(group, size);
  parts_.push_back(part);
}

void EmbeddingStep::lay_tables() {
  blocks_.clear();
  tables_.clear();
  sequences_.clear();
  std::vector<size_t> offsets;  // [parts, groups]
  std::vector<uint32_t> next(groups_.size());
  for (const Part& part : parts_) {
    for (uint32_t group = 0; group < groups_.size(); ++group) {
      offsets.push_back(blocks_.size());
      if (groups_[group].kind == TENON_CACHE_STATE) {
        const uint32_t block = next[group]++;
        blocks_.insert(blocks_.end(), {part.past == 0 ? TENON_NO_BLOCK : block, block});
        continue;
      }
      const uint64_t count = blocks_of(group, part.size);
      for (uint64_t i = 0; i < count; ++i) blocks_.push_back(next[group]++);
    }
  }
  for (const size_t offset : offsets) tables_.push_back(blocks_.data() + offset);
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    sequences_.push_back(
        {part.first_token, part.num_tokens, part.past, 0, tables_.data() + i * groups_.size()});
  }
}

void EmbeddingStep::make_room() {
  const PlacedExecutable& executable = model_->row_executable();
  pools_.clear();
  for (uint32_t group = 0; group < groups_.size(); ++group) {
    if (needed_[group] > held_[group]) {
      cache_[group].reset();
      held_[group] = 0;
      const PlacedDevice& device = executable.devices()[executable.group_device(group)];
      cache_[group].emplace(device.device, needed_[group] * executable.block_bytes(group),
                            TENON_MEMORY_CACHE);
      held_[group] = needed_[group];
    }
    slabs_[group] = cache_[group] ? cache_[group]->get() : nullptr;
    pools_.push_back(
        {&slabs_[group], 1, static_cast<uint32_t>(std::max<uint64_t>(held_[group], 1))});
  }
}

void EmbeddingStep::bind(tenon_step& step) {
  const auto grow = [&](Buffer& buffer, uint64_t rows, uint64_t columns) {
    const uint64_t bytes = std::max<uint64_t>(rows, 1) * columns * sizeof(float);
    if (buffer.size() < bytes) buffer = Buffer(model_->options().system, bytes, "rows of texts");
    return buffer.data();
  };
  bindings_.clear();
  bindings_.push_back({token_slot_, 0, grow(token_rows_, tokens_.size(), width_)});
  if (text_slot_ != kNoSlot) {
    bindings_.push_back({text_slot_, 0, grow(text_rows_, parts_.size(), text_columns_)});
  }
  if (type_slot_ != kNoSlot) bindings_.push_back({type_slot_, 0, type_rows_.data()});
  if (model_->row_fetcher() != nullptr) {
    model_->row_fetcher()->fetch(step, fetched_, step.cancel);
    const std::span<const tenon_binding> fetched = fetched_.bindings();
    bindings_.insert(bindings_.end(), fetched.begin(), fetched.end());
  }
  step.bindings = bindings_.data();
  step.num_bindings = static_cast<uint32_t>(bindings_.size());
  step.binding_size = sizeof(tenon_binding);
}

void EmbeddingStep::run(const uint32_t* cancel) {
  lay_tables();
  make_room();
  tenon_step step{};
  step.struct_size = sizeof step;
  step.num_tokens = static_cast<uint32_t>(tokens_.size());
  step.num_outputs = static_cast<uint32_t>(output_rows_.size());
  step.num_sequences = static_cast<uint32_t>(sequences_.size());
  step.sequence_size = sizeof(tenon_step_sequence);
  step.num_pools = static_cast<uint32_t>(pools_.size());
  step.tokens = tokens_.data();
  step.positions = positions_.data();
  step.earlier_tokens = earlier_tokens_.data();
  step.sequences = sequences_.data();
  step.pools = pools_.data();
  step.output_rows = output_rows_.data();
  step.cancel = cancel;
  bind(step);
  model_->row_executable().run(step);
}

std::span<const float> EmbeddingStep::token_rows(size_t index) const {
  const Part& part = parts_[index];
  const auto* rows = reinterpret_cast<const float*>(token_rows_.data());
  return {rows + uint64_t{part.first_token} * width_, uint64_t{part.num_tokens} * width_};
}

std::span<const float> EmbeddingStep::text_row(size_t index) const {
  const Part& part = parts_[index];
  if (text_slot_ == kNoSlot || part.past + part.num_tokens < part.size) return {};
  const auto* rows = reinterpret_cast<const float*>(text_rows_.data());
  return {rows + uint64_t{part.text_row} * text_columns_, text_columns_};
}

}  // namespace tenon
