// Character classes of Python's string methods, and iteration over characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/template/jinja_budget.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::jinja {

/// White space of str.isspace, str.strip and str.split.
bool is_space(uint32_t code);
bool is_alpha(uint32_t code);
/// str.isdecimal, str.isdigit (includes superscripts), str.isnumeric (includes fractions and
/// letters).
bool is_decimal(uint32_t code);
bool is_digit(uint32_t code);
bool is_numeric(uint32_t code);
bool is_upper(uint32_t code);
bool is_lower(uint32_t code);
bool is_title(uint32_t code);
/// True if repr() shows the character unescaped.
bool is_printable(uint32_t code);
uint32_t to_upper(uint32_t code);
uint32_t to_lower(uint32_t code);
/// Full case mappings: a character may become several.
void append_upper(uint32_t code, std::string& out);
void append_lower(uint32_t code, std::string& out);
void append_title(uint32_t code, std::string& out);

/// Iterates over the characters of well-formed text and counts each:
///   for (const Character c : Characters(text, budget)) ...
struct Character {
  uint32_t code;
  size_t begin, end;  ///< its bytes
};
class Characters {
 public:
  /// Starts at byte `begin`.
  Characters(std::string_view text, Budget& budget, size_t begin = 0)
      : text_(text), budget_(budget), begin_(begin) {}

  class Iterator {
   public:
    Iterator(std::string_view text, Budget& budget, size_t at)
        : text_(text), budget_(budget), at_(at) {}
    Character operator*() const {
      const CodePoint c = utf8_decode_valid(text_.data() + at_);
      return {c.code, at_, at_ + c.size};
    }
    Iterator& operator++() {
      budget_.spend_character();
      at_ += utf8_decode_valid(text_.data() + at_).size;
      return *this;
    }
    bool operator!=(size_t end) const { return at_ < end; }

   private:
    std::string_view text_;
    Budget& budget_;
    size_t at_;
  };
  [[nodiscard]] Iterator begin() const { return {text_, budget_, begin_}; }
  [[nodiscard]] size_t end() const { return text_.size(); }

 private:
  std::string_view text_;
  Budget& budget_;
  size_t begin_;
};

/// Number of characters in well-formed UTF-8.
size_t count_characters(std::string_view text);
/// Byte offset of character `index`; text.size() if there are fewer.
size_t character_offset(std::string_view text, size_t index);

/// Offset of the first white space after the character at `begin`, or the text's end.
size_t end_of_word(std::string_view text, size_t begin, Budget& budget);

/// Bytes of white space at the start, or end, of a text. budget may be null, which counts nothing.
size_t leading_space(std::string_view text, Budget* budget = nullptr);
size_t trailing_space(std::string_view text, Budget* budget = nullptr);

}  // namespace tenon::jinja
