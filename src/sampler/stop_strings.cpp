#include "sampler/stop_strings.h"

#include <utility>

namespace tenon {

void StopStream::restart(std::shared_ptr<const StopStrings> stops) {
  stops_ = std::move(stops);
  state_ = 0;
  held_.clear();
}

StopStream::Shown StopStream::push(std::string_view text) {
  if (stops_ == nullptr) return {text, false};
  shown_.assign(held_).append(text);
  for (size_t i = held_.size(); i < shown_.size(); ++i) {
    state_ = stops_->next(state_, shown_[i]);
    const uint32_t match = stops_->match(state_);
    if (match == 0) continue;
    shown_.resize(i + 1 - match);
    state_ = 0;
    held_.clear();
    return {shown_, true};
  }
  const size_t held = stops_->depth(state_);
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
