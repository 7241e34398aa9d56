#include "sampler/stop_strings.h"

#include "base/error.h"
#include "base/utf8.h"

namespace tenon {

StopStrings::StopStrings(std::span<const std::string> texts) {
  if (texts.size() > kMaxStrings) {
    fail(Code::Limit, "stop: {} texts, the limit is {}", texts.size(), kMaxStrings);
  }
  size_t size_bytes = 0;
  for (const std::string& text : texts) {
    if (text.empty()) fail(Code::Argument, "stop: an empty text would end everything");
    if (!is_utf8(text)) fail(Code::Argument, "stop: {} is not UTF-8", quoted(text));
    size_bytes += text.size();
    if (size_bytes > kMaxBytes) fail(Code::Limit, "stop: more than {} bytes", kMaxBytes);
    uint32_t at = 0;
    for (const char c : text) {
      const auto byte = static_cast<uint8_t>(c);
      uint32_t on = child(at, byte);
      if (on == 0) {
        on = static_cast<uint32_t>(states_.size());
        states_.push_back({0, states_[at].depth + 1, 0, 0, states_[at].first_child, byte});
        states_[at].first_child = on;
      }
      at = on;
    }
    states_[at].match = states_[at].depth;
  }
  // Level by level, so that a fallback is complete before it is used.
  std::vector<uint32_t> order{0};
  for (size_t i = 0; i < order.size(); ++i) {
    const uint32_t parent = order[i];
    for (uint32_t at = states_[parent].first_child; at != 0; at = states_[at].sibling) {
      State& state = states_[at];
      if (parent != 0) state.fallback = next(states_[parent].fallback, state.byte);
      if (state.match == 0) state.match = states_[state.fallback].match;
      order.push_back(at);
    }
  }
}

uint32_t StopStrings::child(uint32_t state, uint8_t byte) const {
  uint32_t at = states_[state].first_child;
  while (at != 0 && states_[at].byte != byte) at = states_[at].sibling;
  return at;
}

uint32_t StopStrings::next(uint32_t state, uint8_t byte) const {
  while (true) {
    if (const uint32_t on = child(state, byte); on != 0) return on;
    if (state == 0) return 0;
    state = states_[state].fallback;
  }
}

void StopStream::restart(std::shared_ptr<const StopStrings> stops) {
  stops_ = std::move(stops);
  state_ = 0;
  held_.clear();
}

StopStream::Shown StopStream::push(std::string_view text) {
  if (stops_ == nullptr) return {text, false};
  shown_.assign(held_).append(text);
  for (size_t i = held_.size(); i < shown_.size(); ++i) {
    state_ = stops_->next(state_, static_cast<uint8_t>(shown_[i]));
    const uint32_t match = stops_->states_[state_].match;
    if (match == 0) continue;
    shown_.resize(i + 1 - match);
    state_ = 0;
    held_.clear();
    return {shown_, true};
  }
  const size_t held = stops_->states_[state_].depth;
  held_.assign(shown_, shown_.size() - held, held);
  shown_.resize(shown_.size() - held);
  return {shown_, false};
}

std::string_view StopStream::finish() {
  shown_.swap(held_);
  held_.clear();
  state_ = 0;
  return shown_;
}

}  // namespace tenon
