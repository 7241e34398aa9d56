#include "text/char_class.h"
#include "text/split_patterns.h"

namespace tenon {
namespace {

/// Length of a run of characters of `mask` at `at`.
size_t run_length(std::string_view text, size_t at, uint8_t mask) {
  return run_end(text, at, mask) - at;
}

/// Length of \s?X+ at `at`, where X is the class `mask`, which must not hold spaces.
size_t spaced_run_length(std::string_view text, size_t at, uint8_t mask) {
  const Char first = char_at(text, at);
  const size_t start = first.is(kClassSpace) ? at + first.size : at;
  const size_t end = run_end(text, start, mask);
  return end > start ? end - at : 0;
}

/// Length of [\p{P}...]+ at `at`, where ... are the ASCII characters of `extra`.
size_t punctuation_length(std::string_view text, size_t at, std::string_view extra) {
  size_t end = at;
  for (Char c = char_at(text, end); !c.is(kClassEnd); c = char_at(text, end)) {
    const bool is_extra = c.size == 1 && extra.find(text[end]) != std::string_view::npos;
    if (!c.is(kClassPunctuation) && !is_extra) break;
    end += c.size;
  }
  return end - at;
}

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

Match find_digit(std::string_view text, size_t from) {
  return find_first(text, from, [](std::string_view t, size_t at) -> size_t {
    const Char c = char_at(t, at);
    return c.is(kClassNumber) ? c.size : 0;
  });
}

Match find_digits(std::string_view text, size_t from) {
  return find_first(text, from,
                    [](std::string_view t, size_t at) { return run_length(t, at, kClassNumber); });
}

Match find_three_ascii_digits(std::string_view text, size_t from) {
  return find_first(text, from, [](std::string_view t, size_t at) -> size_t {
    const bool found = t.size() - at >= 3 && is_ascii_digit(t[at]) && is_ascii_digit(t[at + 1]) &&
                       is_ascii_digit(t[at + 2]);
    return found ? 3 : 0;
  });
}

Match find_newline(std::string_view text, size_t from) {
  const size_t at = text.find_first_of("\r\n", from);
  if (at == std::string_view::npos) return {text.size(), text.size()};
  return {at, at + 1};
}

Match find_punctuation_run(std::string_view text, size_t from) {
  return find_first(text, from, [](std::string_view t, size_t at) {
    return punctuation_length(t, at, "$+<=>^~|`");
  });
}

Match find_punctuation_run_without_backtick(std::string_view text, size_t from) {
  return find_first(text, from, [](std::string_view t, size_t at) {
    return punctuation_length(t, at, "$+<=>^~|");
  });
}

Match find_spaced_letters(std::string_view text, size_t from) {
  return find_first(text, from, [](std::string_view t, size_t at) {
    return spaced_run_length(t, at, kClassLetter);
  });
}

Match find_spaced_punctuation(std::string_view text, size_t from) {
  return find_first(text, from, [](std::string_view t, size_t at) {
    return spaced_run_length(t, at, kClassPunctuation);
  });
}

}  // namespace tenon
