#include "engine/held_tokens.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace tenon {
namespace {

/// Repeated draws at a position have their own random number: the first one's lies on an excluded
/// token. Positions are below 2^31; the sampler uses the highest bits.
constexpr int kTryShift = 32;

}  // namespace

std::span<const Token> HeldTokens::forbidden(AnswerText& answer, const EndRules& rules) {
  const std::span<const Token> ends = answer.forbidden(rules);
  if (excluded_.empty()) return ends;
  forbidden_.assign(ends.begin(), ends.end());
  forbidden_.insert(forbidden_.end(), excluded_.begin(), excluded_.end());
  return forbidden_;
}

HeldTokens::Drawn HeldTokens::draw(std::span<const float> logits, std::span<const Token> text,
                                   uint64_t room, Sampler& sampler, AnswerText& answer,
                                   const EndRules& rules, WorkWatch* watch) {
  for (uint32_t tries = 1;; ++tries) {
    Token token = 0;
    try {
      token = sampler.sample(logits, text, text.size() | uint64_t{excluded_.size()} << kTryShift,
                             forbidden(answer, rules), watch);
    } catch (const Error& error) {
      // Before the exclusions a token existed, so State means that they excluded all.
      if (excluded_.empty() || error.code() != Code::State) throw;
      return exhaust();
    }
    const Drawn drawn = push(token, true, text.size(), room, sampler, answer, rules);
    // Excluded at this position, so the same logits apply.
    if (drawn == Drawn::Back && end() == text.size() && tries < kTriesAtOnce) continue;
    return drawn;
  }
}

HeldTokens::Drawn HeldTokens::push(Token token, bool was_drawn, uint64_t position, uint64_t room,
                                   Sampler& sampler, AnswerText& answer, const EndRules& rules) {
  if (size_ == 0) begin_ = position;
  if (std::ranges::find(excluded_, token) != excluded_.end()) {
    // A grammar allows only this token.
    sampler.roll_back(1);
    return exhaust();
  }
  bool pushed = false;
  std::optional<size_t> back;
  try {
    Entry& entry = prepare(answer);
    pushed = true;
    const uint64_t from = answer.watch().texts() == rules.banned ? answer.watch().size() : 0;
    const bool goes_on = answer.is_in_character();
    const AnswerText::Shown shown = answer.push(token, rules);
    entry.begins = from;
    if (goes_on)
      entry.begins = shown.first_character == 0 ? kNowhere : from + shown.first_character;
    entry.token = token;
    entry.was_drawn = was_drawn;
    entry.finish = shown.finish;
    entry.text.assign(shown.text);
    entry.memory = sampler.memory();
    if (shown.banned_from) {
      back = token_of(*shown.banned_from, size_ + 1);
      (*back == size_ ? excluded_ : slots_[*back].excluded).push_back(slots_[*back].token);
    }
  } catch (...) {
    if (pushed) std::swap(answer, slots_[size_].before);
    sampler.roll_back(1);
    throw;
  }
  if (back) return go_back(*back, sampler, answer);
  Entry& entry = slots_[size_++];
  entry.excluded.swap(excluded_);
  excluded_.clear();
  update_released(answer, room);
  return Drawn::Taken;
}

HeldTokens::Entry& HeldTokens::prepare(const AnswerText& answer) {
  if (slots_.size() == size_) {
    slots_.emplace_back(answer);
  } else {
    slots_[size_].before = answer;
  }
  return slots_[size_];
}

void HeldTokens::pop(Sampler& sampler, AnswerText& answer) noexcept {
  --size_;
  num_released_ = std::min(num_released_, size_);
  std::swap(answer, slots_[size_].before);
  sampler.roll_back(1);
}

size_t HeldTokens::token_of(uint64_t byte, size_t count) const {
  for (size_t i = count; i > 0; --i) {
    if (slots_[i - 1].begins <= byte) return i - 1;
  }
  return 0;  // in a token already handed out
}

void HeldTokens::update_released(const AnswerText& answer, uint64_t room) {
  const BanWatch& watch = answer.watch();
  num_released_ = size_;
  const bool ends = back().finish != Finish::None || size_ >= room;
  if (!ends && (watch.open_from() < watch.size() || answer.is_in_character())) {
    num_released_ = token_of(watch.open_from(), size_);
    if (size_ == kMaxTokens) num_released_ = std::max<size_t>(num_released_, 1);
  }
  if (num_released_ > 0) num_tries_ = 0;
}

HeldTokens::Drawn HeldTokens::go_back(size_t index, Sampler& sampler, AnswerText& answer) {
  sampler.roll_back(size_ + 1 - index);
  std::swap(answer, slots_[index].before);
  if (index < size_) excluded_.swap(slots_[index].excluded);
  size_ = index;
  return ++num_tries_ < kMaxTries ? Drawn::Back : exhaust();
}

HeldTokens::Drawn HeldTokens::exhaust() {
  excluded_.clear();
  num_tries_ = 0;
  num_released_ = size_;
  if (size_ > 0) slots_[size_ - 1].finish = Finish::Banned;
  return Drawn::Exhausted;
}

void HeldTokens::pop_front() {
  std::rotate(slots_.begin(), slots_.begin() + 1, slots_.begin() + static_cast<ptrdiff_t>(size_));
  --size_;
  --num_released_;
  ++begin_;
}

void HeldTokens::draw_again(Sampler& sampler) const {
  for (size_t i = 0; i < size_; ++i) sampler.draw_again(slots_[i].token, slots_[i].memory);
}

void HeldTokens::drop(AnswerText& answer) noexcept {
  if (size_ > 0) std::swap(answer, slots_.front().before);
  size_ = 0;
  num_released_ = 0;
  excluded_.clear();
  num_tries_ = 0;
}

}  // namespace tenon
