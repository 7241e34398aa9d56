#include "text/split_patterns.h"
#include "text/split_words.h"

namespace tenon {

Match find_gpt2(std::string_view text, size_t from) {
  if (from >= text.size()) return {text.size(), text.size()};
  if (const size_t length = contraction_length<false>(text, from)) return {from, from + length};
  const size_t start = text[from] == ' ' ? from + 1 : from;  // " ?" of the next three alternatives
  const Char c = char_at(text, start);
  if (c.is(kClassLetter)) return {from, run_end(text, start, kClassLetter)};
  if (c.is(kClassNumber)) return {from, run_end(text, start, kClassNumber)};
  if (c.is_other()) return {from, other_run_end(text, start)};
  return {from, space_run_end(text, from)};
}

}  // namespace tenon
