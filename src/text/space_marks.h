// Where words begin in text and tokens that have U+2581 for a space.
#pragma once

#include <string_view>

#include "text/token_table.h"

namespace tenon {

/// The next U+2581 behind `begin` that follows another character; else the end of the text.
inline size_t mark_behind(std::string_view text, size_t begin) {
  for (size_t at = text.find(kSpaceMark, begin + 1); at < text.size();
       at = text.find(kSpaceMark, at + 1)) {
    if (!text.substr(0, at).ends_with(kSpaceMark)) return at;
  }
  return text.size();
}

/// Whether a U+2581 follows another character, so that the token reaches into another word.
inline bool has_space_mark_inside(std::string_view text) {
  return mark_behind(text, 0) < text.size();
}

}  // namespace tenon
