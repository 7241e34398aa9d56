// Cuts a text at its special tokens; the text between is tokenized elsewhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "text/tokenizer/special_matcher.h"
#include "text/tokenizer/token_table.h"
#include "text/unicode/char_properties.h"
#include "text/unicode/utf8_codec.h"

namespace tenon {

/// Classifies the surroundings of a token in a text: they decide whether it matches and which white
/// space it absorbs (TokenMatching). Immutable.
class TokenSurroundings {
 public:
  TokenSurroundings() : spaces_(space_set()), words_(token_word_set()) {}

  [[nodiscard]] bool is_space(uint32_t code) const { return spaces_.contains(code); }
  /// True if bytes [begin, end) of `text` have no word character beside them.
  [[nodiscard]] bool stand_alone(std::string_view text, size_t begin, size_t end) const {
    const bool left = begin > 0 && words_.contains(char_before(text, begin).code);
    const bool right = end < text.size() && words_.contains(char_at(text, end).code);
    return !left && !right;
  }
  /// Start of the white space that ends at `end`, not before `floor`.
  [[nodiscard]] size_t spaces_before(std::string_view text, size_t floor, size_t end) const {
    while (end > floor) {
      const CodePoint c = char_before(text, end);
      if (!is_space(c.code)) break;
      end -= c.size;
    }
    return end;
  }
  /// End of the white space that begins at `begin`.
  [[nodiscard]] size_t spaces_after(std::string_view text, size_t begin) const {
    while (begin < text.size()) {
      const CodePoint c = char_at(text, begin);
      if (!is_space(c.code)) break;
      begin += c.size;
    }
    return begin;
  }

 private:
  static CodePoint char_at(std::string_view text, size_t at) {
    return utf8_decode_valid(text.data() + at);
  }
  static CodePoint char_before(std::string_view text, size_t at) {
    do --at;
    while (at > 0 && utf8_continues(text[at]));
    return char_at(text, at);
  }

  CharSet spaces_;
  CharSet words_;
};

/// A pass over a text, well-formed UTF-8, from left to right. Linear time.
class TokenBoundaries {
 public:
  TokenBoundaries(const TokenTable& table, const TokenSurroundings& surroundings,
                  std::string_view text)
      : table_(table), surroundings_(surroundings), text_(text) {}

  /// Visits the tokens that `matcher` finds in bytes [begin, end): calls on_text(from, to) for the
  /// text before each (never empty) and on_token(token).
  template <typename OnText, typename OnToken>
  void cut(const SpecialMatcher& matcher, size_t begin, size_t end, OnText&& on_text,
           OnToken&& on_token) {
    const auto on_found = [&](const SpecialMatcher::Found& found) {
      size_t from = begin + found.begin;
      size_t to = from + found.size;
      const uint8_t matching = table_.matching(found.token);
      if ((matching & kSingleWord) != 0 && !surroundings_.stand_alone(text_, from, to)) return;
      if ((matching & kStripsLeft) != 0) {
        from = std::max(surroundings_.spaces_before(text_, std::min(done_, from), from), done_);
      }
      if ((matching & kStripsRight) != 0) to = spaces_after(to);
      if (to <= from) return;  // absorbed by the token before
      if (from > done_) on_text(done_, from);
      on_token(found.token);
      done_ = to;
    };
    matcher.find_each(text_.substr(begin, end - begin), on_found);
  }

  /// Calls on_text(from, to) for the rest of the text, unless it is empty.
  template <typename OnText>
  void finish(size_t end, OnText&& on_text) {
    if (end > done_) on_text(done_, end);
    done_ = std::max(done_, end);
  }

 private:
  /// Scans a run of spaces once, even if many tokens are found in it.
  size_t spaces_after(size_t at) {
    if (at < run_begin_ || at > run_end_) {
      run_begin_ = at;
      run_end_ = surroundings_.spaces_after(text_, at);
    }
    return run_end_;
  }

  const TokenTable& table_;
  const TokenSurroundings& surroundings_;
  std::string_view text_;
  size_t done_ = 0;
  size_t run_begin_ = 0;  // the last run of spaces after a token; initially empty
  size_t run_end_ = 0;
};

}  // namespace tenon
