// Writes JSON as text piece by piece, without a tree of large values.
#pragma once

#include <string>
#include <string_view>

#include "server/json/json.h"

namespace tenon_http {

/// Text of an object without its closing brace, for appending members.
inline std::string open_text(const Json& object) {
  std::string text = to_text(object);
  text.pop_back();
  return text;
}

/// Appends members to an open object that already has some.
inline void append_members(std::string& text, const Json& members) {
  if (members.empty()) return;
  const std::string more = to_text(members);
  text += ',';
  text.append(more, 1, more.size() - 2);
}

/// List whose items are appended as text.
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
  /// Returns "[...]" and empties the list.
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
