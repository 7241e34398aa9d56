#include "text/split_patterns.h"
#include "text/split_words.h"

namespace tenon {
namespace {

/// The end of \p{N}{1,max_digits}.
size_t digits_end(std::string_view text, size_t at, int max_digits) {
  for (int i = 0; i < max_digits; ++i) {
    const Char c = char_at(text, at);
    if (!c.is(kClassNumber)) break;
    at += c.size;
  }
  return at;
}

/// The end of \s*[\r\n]+|\s+(?!\S)|\s+ at a space. The first alternative, greedy, ends after the
/// last line break of the run of spaces.
size_t spaces_end(std::string_view text, size_t at) {
  size_t after_newline = at;
  size_t end = at;
  for (Char c = char_at(text, end); c.is(kClassSpace); c = char_at(text, end)) {
    end += c.size;
    if (c.is(kClassNewline)) after_newline = end;
  }
  return after_newline > at ? after_newline : space_run_end(text, at);
}

template <int kMaxDigits>
Match find_llama3_like(std::string_view text, size_t from) {
  if (from >= text.size()) return {text.size(), text.size()};
  if (const size_t length = contraction_length<true>(text, from)) return {from, from + length};

  const Char first = char_at(text, from);
  if (first.is(kClassLetter)) return {from, run_end(text, from, kClassLetter)};
  if (first.is(kClassNumber)) return {from, digits_end(text, from, kMaxDigits)};

  const size_t second_at = from + first.size;
  const Char second = char_at(text, second_at);
  if (!first.is(kClassNewline) && second.is(kClassLetter)) {
    return {from, run_end(text, second_at, kClassLetter)};
  }
  const bool leading_space = first.code == ' ' && second.is_other();
  if (leading_space || first.is_other()) {
    const size_t others_end = other_run_end(text, leading_space ? second_at : from);
    return {from, run_end(text, others_end, kClassNewline)};
  }
  return {from, spaces_end(text, from)};
}

}  // namespace

Match find_llama3(std::string_view text, size_t from) { return find_llama3_like<3>(text, from); }

Match find_qwen2(std::string_view text, size_t from) { return find_llama3_like<1>(text, from); }

}  // namespace tenon
