#include "engine/text_batch.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace tenon {
namespace {

/// Tokens up to which texts fill a step: more make none cheaper and take more memory.
constexpr uint32_t kStepTokens = 512;
/// Short texts may leave their last blocks nearly empty, up to this multiple of a full step's
/// blocks.
constexpr uint64_t kSpareBlocks = 2;

bool is_table(const ModelProgram& program, uint32_t slot) {
  return std::ranges::any_of(program.tables, [slot](const DemandTable& table) {
    return static_cast<uint32_t>(table.slot) == slot;
  });
}

}  // namespace

TextBatch::TextBatch(std::shared_ptr<const Model> model, bool last_alone)
    : model_(std::move(model)),
      program_(model_->trunk()),
      has_logits_(!model_->gives_rows()),
      last_alone_(last_alone) {
  (void)model_->row_executable();  // throws if there is none
  const std::span<const tenon_slot> slots = program_.program.slots();
  const std::span<const uint32_t> results = program_.program.results();
  if (has_logits_) token_slot_ = results[0];
  for (const uint32_t slot : has_logits_ ? std::span<const uint32_t>() : results) {
    (slots[slot].row_class == TENON_ROWS_TOKENS ? token_slot_ : text_slot_) = slot;
  }
  if (token_slot_ == kNoSlot) fail(Code::Internal, "embedder: the program has no rows of tokens");
  width_ = static_cast<uint32_t>(slots[token_slot_].columns);
  if (text_slot_ != kNoSlot) text_columns_ = static_cast<uint32_t>(slots[text_slot_].columns);
  for (uint32_t slot = 0; slot < slots.size(); ++slot) {
    if (slots[slot].kind != TENON_SLOT_INPUT || is_table(program_, slot)) continue;
    type_slot_ = slot;
    types_ = static_cast<uint32_t>(slots[slot].columns);
  }
  runner_.emplace(program_, std::span<const std::shared_ptr<BlockPool>>{},
                  model_->options().system);
  step_tokens_ = runner_->max_tokens();
  if (has_logits_ && !last_alone_) step_tokens_ = std::min(step_tokens_, kMostPrivateOutputs);
  most_tokens_ = std::min(step_tokens_, std::max(model_->options().slice, kStepTokens));
}

TextBatch::~TextBatch() {
  if (!runner_) return;
  const DeviceTurn::Access turn(model_->turn());  // buffers go back to the device
  release_memory(turn.held());
}

void TextBatch::clear() {
  parts_.clear();
  type_rows_.clear();
  runner_->clear();
}

/// True if a text may join others in the step.
bool TextBatch::has_room(size_t tokens) const {
  if (has_logits_ && runner_->num_outputs() == kMostPrivateOutputs) return false;
  const std::span<const tenon_cache_group> groups = program_.program.groups();
  for (uint32_t group = 0; group < groups.size(); ++group) {
    const bool state = groups[group].kind == TENON_CACHE_STATE;
    uint64_t most =
        state ? most_tokens_ / 16 + 1 : kSpareBlocks * private_blocks(groups[group], most_tokens_);
    if (const uint64_t planned = program_.private_positions; planned > 0) {
      most = std::min(most, private_blocks(groups[group], planned));
    }
    const uint64_t blocks = private_blocks(groups[group], tokens);
    if (runner_->private_blocks_of(group) + blocks > most) return false;
  }
  return true;
}

bool TextBatch::add(const EmbedderText& text) {
  const bool alone = parts_.empty();
  const size_t most = alone && model_->spec().sees_ahead() ? step_tokens_ : most_tokens_;
  const size_t tokens = text.tokens.size();
  if (tokens > most - std::min<size_t>(most, runner_->num_tokens())) return false;
  if (!alone && !has_room(tokens)) return false;
  put(text, 0, static_cast<uint32_t>(tokens));
  return true;
}

size_t TextBatch::set_slice(const EmbedderText& text, size_t begin) {
  clear();
  const size_t count = std::min<size_t>(text.tokens.size() - begin, step_tokens_);
  put(text, begin, static_cast<uint32_t>(count));
  return count;
}

void TextBatch::put(const EmbedderText& text, size_t begin, uint32_t count) {
  Part part{count, runner_->num_tokens(), count, static_cast<uint32_t>(parts_.size()),
            begin + count == text.tokens.size()};
  StepSlice slice{.text = text.tokens, .past = begin, .num_tokens = count};
  if (has_logits_) {
    part.first_row = runner_->num_outputs();
    part.num_rows = slice.num_outputs = !last_alone_ ? count : part.ends ? 1 : 0;
  }
  if (text_slot_ != kNoSlot &&
      program_.program.slots()[text_slot_].row_class == TENON_ROWS_OUTPUTS) {
    part.text_row = runner_->num_outputs();
    // A decoder's classifier reads the last token.
    slice.num_outputs = part.ends ? 1 : 0;
  }
  runner_->add(slice);
  parts_.push_back(part);
  for (size_t i = begin; i < begin + count; ++i) {
    const uint32_t type = i < text.second_begin ? 0 : 1;
    for (uint32_t j = 0; j < types_; ++j) type_rows_.push_back(j == type ? 1.0f : 0.0f);
  }
}

void TextBatch::run(const DeviceTurn::Held&, const uint32_t* cancel) {
  token_rows_ = runner_->bind_own(token_slot_, "rows of texts");
  if (text_slot_ != kNoSlot) text_rows_ = runner_->bind_own(text_slot_, "rows of texts");
  if (type_slot_ != kNoSlot) runner_->bind(type_slot_, type_rows_.data());
  runner_->run(cancel);
}

std::span<const float> TextBatch::token_rows(size_t index) const {
  const Part& part = parts_[index];
  return token_rows_.subspan(uint64_t{part.first_row} * width_, uint64_t{part.num_rows} * width_);
}

std::span<const float> TextBatch::text_row(size_t index) const {
  const Part& part = parts_[index];
  if (text_slot_ == kNoSlot || !part.ends) return {};
  return text_rows_.subspan(uint64_t{part.text_row} * text_columns_, text_columns_);
}

}  // namespace tenon
