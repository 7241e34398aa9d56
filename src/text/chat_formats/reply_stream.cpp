#include "text/chat_formats/reply_stream.h"

#include <algorithm>

namespace tenon {

void ReplyInput::append(std::string_view text) {
  // Compact once half was read, to keep the work linear.
  if (kept_ > 4096 && kept_ > text_.size() / 2) {
    text_.erase(0, kept_);
    at_ -= kept_;
    kept_ = 0;
  }
  text_ += text;
}

void ReplyInput::skip_space() {
  while (at_ < text_.size() && is_reply_space(text_[at_])) ++at_;
}

ReplyInput::Match ReplyInput::match(std::string_view literal) const {
  const std::string_view text = rest();
  if (text.starts_with(literal)) return Match::Yes;
  return !at_end && literal.starts_with(text) ? Match::Partly : Match::No;
}

ReplyInput::Found ReplyInput::find(std::span<const std::string_view> markers, size_t from) const {
  const std::string_view text = rest();
  for (size_t at = from; at < text.size(); ++at) {
    const std::string_view tail = text.substr(at);
    size_t best = markers.size();
    bool may_grow = false;
    for (size_t i = 0; i < markers.size(); ++i) {
      if (markers[i].empty() || markers[i][0] != tail[0]) continue;
      if (tail.starts_with(markers[i])) {
        if (best == markers.size() || markers[i].size() > markers[best].size()) best = i;
      } else if (!at_end && markers[i].starts_with(tail)) {
        may_grow = true;
      }
    }
    if (may_grow) return {at, markers.size()};
    if (best != markers.size()) return {at, best};
  }
  return {text.size(), markers.size()};
}

}  // namespace tenon
