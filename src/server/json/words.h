// Splits settings that list words.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace tenon_http {

/// Non-empty parts of `text` between the separators in `between`. The views point into `text`.
inline std::vector<std::string_view> words_of(std::string_view text, std::string_view between) {
  std::vector<std::string_view> words;
  for (size_t at = text.find_first_not_of(between); at != text.npos;
       at = text.find_first_not_of(between, at)) {
    const size_t end = std::min(text.find_first_of(between, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace tenon_http
