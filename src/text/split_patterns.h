// The regular expressions of published pre-tokenizers as hand-written scanners: one function per
// pattern, linear time, no backtracking. Which model uses which is in pre_tokenizer.cpp.
#pragma once

#include <cstddef>
#include <string_view>

namespace tenon {

/// Where a pattern matches: bytes [begin, end) of the text.
struct Match {
  size_t begin;
  size_t end;
};

/// A pattern: finds its first match at or after `from` (a character boundary). No match is
/// {text.size(), text.size()}. `text` is well-formed UTF-8 and is all that look-ahead and anchors
/// see. Calling it for match after match over a whole text takes linear time.
using FindMatch = Match (*)(std::string_view text, size_t from);

/// Runs `match_length_at` (bytes matched at a position, 0 for none; constant time when there is no
/// match) at each character from `from` on.
template <typename MatchLengthAt>
Match find_first(std::string_view text, size_t from, MatchLengthAt match_length_at) {
  for (size_t at = from; at < text.size();) {
    const size_t length = match_length_at(text, at);
    if (length > 0) return {at, at + length};
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  }
  return {text.size(), text.size()};
}

/// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
Match find_gpt2(std::string_view text, size_t from);

/// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*
/// |\s*[\r\n]+|\s+(?!\S)|\s+
Match find_llama3(std::string_view text, size_t from);

/// As find_llama3 with \p{N} in place of \p{N}{1,3}.
Match find_qwen2(std::string_view text, size_t from);

/// \p{N}
Match find_digit(std::string_view text, size_t from);
/// \p{N}+
Match find_digits(std::string_view text, size_t from);
/// [0-9][0-9][0-9]
Match find_three_ascii_digits(std::string_view text, size_t from);
/// [\r\n]
Match find_newline(std::string_view text, size_t from);
/// [\p{P}\$\+<=>\^~\|`]+
Match find_punctuation_run(std::string_view text, size_t from);
/// [\p{P}\$\+<=>\^~\|]+
Match find_punctuation_run_without_backtick(std::string_view text, size_t from);
/// \s?\p{L}+
Match find_spaced_letters(std::string_view text, size_t from);
/// \s?\p{P}+
Match find_spaced_punctuation(std::string_view text, size_t from);
/// \s?[...]+ over the cased letters that deepseek-llm lists
Match find_deepseek_letters(std::string_view text, size_t from);
/// \s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3000-\u3002]+
Match find_deepseek_symbols(std::string_view text, size_t from);
/// \s+$
Match find_trailing_space(std::string_view text, size_t from);
/// [\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+
Match find_deepseek_cjk(std::string_view text, size_t from);

}  // namespace tenon
