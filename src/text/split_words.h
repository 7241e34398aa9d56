// The alternatives that the word patterns of gpt-2 and its descendants have in common.
#pragma once

#include <cstddef>
#include <string_view>

#include "text/char_class.h"

namespace tenon {

/// Length of 's|'t|'re|'ve|'m|'ll|'d at `at`, 0 for none. FoldCase: as under (?i:...), where U+017F
/// (long s) also is an s.
template <bool FoldCase>
size_t contraction_length(std::string_view text, size_t at) {
  if (text[at] != '\'') return 0;
  const auto letter = [text](size_t position) -> char {
    if (position >= text.size()) return 0;
    const char c = text[position];
    return FoldCase && c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  };
  const char first = letter(at + 1);
  const char second = letter(at + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e')) return 3;
  if (first == 'l' && second == 'l') return 3;
  if (FoldCase && text.substr(at + 1).starts_with("\u017F")) return 3;
  return 0;
}

/// The end of \s+(?!\S)|\s+ at a space: the run of spaces, less its last one when something other
/// than the end follows and more than one is there.
inline size_t space_run_end(std::string_view text, size_t at) {
  size_t previous = at;
  size_t end = at;
  Char c = char_at(text, end);
  for (; c.is(kClassSpace); c = char_at(text, end)) {
    previous = end;
    end += c.size;
  }
  const bool at_end = c.is(kClassEnd);
  return at_end || previous == at ? end : previous;
}

/// The end of a run of [^\s\p{L}\p{N}].
inline size_t other_run_end(std::string_view text, size_t at) {
  for (Char c = char_at(text, at); c.is_other(); c = char_at(text, at)) at += c.size;
  return at;
}

}  // namespace tenon
