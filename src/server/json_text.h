// JSON that is written as text piece by piece: no tree of what is large is built.
#pragma once

#include <string>
#include <string_view>

#include "json.h"

namespace tenon_http {

/// An object's text without its last brace, so that members can be appended.
inline std::string open_text(const Json& object) {
  std::string text = to_text(object);
  text.pop_back();
  return text;
}

/// Appends members of an object to one that is open and has some.
inline void append_members(std::string& text, const Json& members) {
  if (members.empty()) return;
  const std::string more = to_text(members);
  text += ',';
  text.append(more, 1, more.size() - 2);
}

/// A list whose items are appended as texts.
class ListText {
 public:
  void add(std::string_view item) {
    if (!is_empty()) text_ += ',';
    text_ += item;
    ++size_;
  }
  [[nodiscard]] bool is_empty() const { return size_ == 0; }
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] size_t num_bytes() const { return text_.size(); }
  /// "[...]"; the list is empty afterwards.
  [[nodiscard]] std::string take() {
    std::string whole = std::move(text_);
    text_ = "[";
    size_ = 0;
    return std::move(whole += ']');
  }
  [[nodiscard]] std::string text() const { return text_ + ']'; }

 private:
  std::string text_ = "[";
  size_t size_ = 0;
};

}  // namespace tenon_http
