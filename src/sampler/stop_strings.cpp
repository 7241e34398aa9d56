#include "sampler/stop_strings.h"

#include <utility>

namespace tenon {

void StopStream::restart(std::shared_ptr<const StopStrings> stops) {
  stops_ = std::move(stops);
  state_ = 0;
  text_.clear();
  held_from_ = 0;
}

StopStream::Shown StopStream::push(std::string_view text) {
  if (stops_ == nullptr) return {text, false};
  // Move the held text only if it is no longer than the text before it, so that a long prefix of a
  // stop string is not copied with every piece.
  if (held_from_ >= text_.size() - held_from_) {
    text_.erase(0, held_from_);
    held_from_ = 0;
  }
  const size_t begin = held_from_;
  size_t at = text_.size();
  text_ += text;
  const auto up_to = [&](size_t end) { return std::string_view(text_).substr(begin, end - begin); };
  while (at < text_.size()) {
    state_ = stops_->next(state_, text_[at++]);
    const uint32_t match = stops_->match(state_);
    if (match == 0) continue;
    state_ = 0;
    held_from_ = text_.size();
    return {up_to(at - match), true};
  }
  held_from_ = text_.size() - stops_->depth(state_);
  return {up_to(held_from_), false};
}

std::string_view StopStream::finish() {
  const std::string_view held = std::string_view(text_).substr(held_from_);
  held_from_ = text_.size();
  state_ = 0;
  return held;
}

}  // namespace tenon
