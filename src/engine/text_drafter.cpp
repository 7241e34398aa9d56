#include "engine/text_drafter.h"

#include <algorithm>
#include <utility>

namespace tenon {
namespace {

/// Chance that a repetition of `length` tokens goes on for one more; a first claim, which the
/// speculator corrects by what claims were worth.
float claim_of(uint32_t length) {
  if (length >= 16) return 0.95F;
  if (length >= 8) return 0.88F;
  if (length >= 4) return 0.7F;
  return length == 3 ? 0.5F : 0.3F;
}

}  // namespace

size_t copy_match(std::span<const Token> indexed, PairIndex::Match match, std::span<Token> tokens,
                  std::span<float> probabilities) {
  if (match.length == 0) return 0;
  const size_t count = std::min({tokens.size(), probabilities.size(), indexed.size() - match.end});
  for (size_t i = 0; i < count; ++i) {
    tokens[i] = indexed[match.end + i];
    probabilities[i] = claim_of(match.length + static_cast<uint32_t>(i));
  }
  return count;
}

PairIndex::PairIndex(size_t expected_tokens) : latest_(kSlots, kNone) {
  entries_.reserve(std::min(expected_tokens, size_t{1} << 17));
}

uint32_t PairIndex::slot_of(Token first, Token second) {
  const uint64_t pair =
      uint64_t{static_cast<uint32_t>(first)} << 32 | static_cast<uint32_t>(second);
  return static_cast<uint32_t>((pair * 0x9e3779b97f4a7c15U) >> 51);
}

void PairIndex::follow(std::span<const Token> text) {
  // The last entry is made anew: its token may have been drawn again.
  const size_t kept = std::min(entries_.size(), text.size() - std::min<size_t>(text.size(), 1));
  while (entries_.size() > kept) {
    const Entry last = entries_.back();
    entries_.pop_back();
    if (!entries_.empty()) latest_[last.slot] = last.before;
  }
  for (size_t i = entries_.size(); i < std::min(text.size(), kMostTokens); ++i) {
    if (i == 0) {
      entries_.emplace_back();
      continue;
    }
    const uint32_t slot = slot_of(text[i - 1], text[i]);
    entries_.push_back({latest_[slot], slot});
    latest_[slot] = static_cast<uint32_t>(i);
  }
}

PairIndex::Match PairIndex::find(std::span<const Token> text, std::span<const Token> indexed,
                                 bool is_same) const {
  Match best;
  if (text.size() < 2) return best;
  uint32_t at = latest_[slot_of(text[text.size() - 2], text.back())];
  for (uint32_t look = 0; look < kMostLooks && at != kNone; ++look, at = entries_[at].before) {
    const size_t end = size_t{at} + 1;
    if (end >= indexed.size() || (is_same && end >= text.size())) continue;
    uint32_t length = 0;
    while (length < kLongest && length < end && length < text.size() &&
           indexed[at - length] == text[text.size() - 1 - length]) {
      ++length;
    }
    if (length < 2 || length <= best.length) continue;
    best = {end, length};
    if (length == kLongest) break;
  }
  return best;
}

size_t TextDrafter::propose(std::span<const Token> text, std::span<Token> tokens,
                            std::span<float> probabilities) {
  index_.follow(text);
  const PairIndex::Match match = index_.find(text, text, true);
  if (match.length == 0) return 0;
  const size_t count = copy_match(text, match, tokens, probabilities);
  // A text that repeats itself with a short period goes on beyond its own end.
  const size_t period = text.size() - match.end;
  size_t all = count;
  for (; all < std::min(tokens.size(), probabilities.size()); ++all) {
    tokens[all] = tokens[all - period];
    probabilities[all] = claim_of(match.length + static_cast<uint32_t>(all));
  }
  return all;
}

PredictionDrafter::PredictionDrafter(std::shared_ptr<const Prediction> prediction,
                                     size_t prompt_size)
    : prediction_(std::move(prediction)), prompt_size_(prompt_size), text_size_(prompt_size) {}

size_t PredictionDrafter::propose(std::span<const Token> text, std::span<Token> tokens,
                                  std::span<float> probabilities) {
  const std::span<const Token> predicted = prediction_->tokens();
  if (text.size() < text_size_) {
    text_size_ = std::max(text.size(), prompt_size_);
    next_ = predicted.size();
  }
  if (text.size() < prompt_size_) return 0;
  // The answer begins as predicted, and goes on in step while its tokens are those predicted.
  if (text.size() == prompt_size_) {
    next_ = 0;
    return copy_match(predicted, {0, predicted.empty() ? 0U : 4U}, tokens, probabilities);
  }
  uint32_t in_step = 0;
  for (; text_size_ < text.size(); ++text_size_) {
    const bool is_next = next_ < predicted.size() && predicted[next_] == text[text_size_];
    in_step = is_next ? in_step + 1 : 0;
    next_ = is_next ? next_ + 1 : predicted.size();
  }
  if (next_ < predicted.size()) {
    return copy_match(predicted, {next_, 8 + in_step}, tokens, probabilities);
  }
  const PairIndex::Match match = prediction_->find(text);
  if (match.length == 0) return 0;
  next_ = match.end;
  return copy_match(predicted, match, tokens, probabilities);
}

}  // namespace tenon
