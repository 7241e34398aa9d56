// Cuts a text at the tokens that are matched in it; what lies between is tokenized elsewhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "text/tokenizer/special_matcher.h"
#include "text/tokenizer/token_table.h"
#include "text/unicode/char_properties.h"
#include "text/unicode/utf8_codec.h"

namespace tenon {

/// What is next to a token in a text decides whether it counts and what it takes with it
/// (TokenMatching). Immutable.
class TokenSurroundings {
 public:
  TokenSurroundings() : spaces_(space_set()), words_(token_word_set()) {}

  [[nodiscard]] bool is_space(uint32_t code) const { return spaces_.contains(code); }
  /// Whether bytes [begin, end) of `text` are a word of their own.
  [[nodiscard]] bool stand_alone(std::string_view text, size_t begin, size_t end) const {
    const bool left = begin > 0 && words_.contains(char_before(text, begin).code);
    const bool right = end < text.size() && words_.contains(char_at(text, end).code);
    return !left && !right;
  }
  /// The start of the white space that ends at `end`, not before `floor`.
  [[nodiscard]] size_t spaces_before(std::string_view text, size_t floor, size_t end) const {
    while (end > floor) {
      const CodePoint c = char_before(text, end);
      if (!is_space(c.code)) break;
      end -= c.size;
    }
    return end;
  }
  /// The end of the white space that begins at `begin`.
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

/// A pass over one text, well-formed UTF-8, from left to right. Linear time.
class TokenBoundaries {
 public:
  TokenBoundaries(const TokenTable& table, const TokenSurroundings& surroundings,
                  std::string_view text)
      : table_(table), surroundings_(surroundings), text_(text) {}

  /// Goes through the tokens that `matcher` finds in bytes [begin, end): calls on_text(from, to)
  /// for what lies before each (never empty) and on_token(token).
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
      if (to <= from) return;  // the token before took all of it
      if (from > done_) on_text(done_, from);
      on_token(found.token);
      done_ = to;
    };
    matcher.find_each(text_.substr(begin, end - begin), on_found);
  }

  /// What is left: on_text(from, to), if anything is.
  template <typename OnText>
  void finish(size_t end, OnText&& on_text) {
    if (end > done_) on_text(done_, end);
    done_ = std::max(done_, end);
  }

 private:
  /// Runs of spaces in which token after token is found are passed once.
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
  size_t run_begin_ = 0;  // the last run of spaces after a token; at first none
  size_t run_end_ = 0;
};

}  // namespace tenon
