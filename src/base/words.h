// Small tables in text.
#pragma once

#include <string_view>

namespace tenon {

/// Whether `list`, with entries between separators, has the word.
inline bool has_word(std::string_view list, std::string_view word, char separator) {
  while (!list.empty()) {
    const size_t end = list.find(separator);
    if (!word.empty() && list.substr(0, end) == word) return true;
    list = end == list.npos ? std::string_view() : list.substr(end + 1);
  }
  return false;
}

/// Calls take(line) for each line that is not empty.
template <typename Take>
void for_each_line(std::string_view text, Take&& take) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (const std::string_view line = text.substr(0, end); !line.empty()) take(line);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
  }
}

}  // namespace tenon
