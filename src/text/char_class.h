// What pre-tokenizer patterns ask of a character: its Unicode class, as a set of bits.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "text/utf8_codec.h"

namespace tenon {

/// Bits of a character class. A character has at most one of Letter, Number, Mark, Punctuation and
/// Symbol; Space is White_Space (the \s of a Unicode regex). Controls and unassigned code points
/// have none of them.
enum CharClass : uint8_t {
  kClassNone = 0,
  kClassLetter = 1,       ///< \p{L}
  kClassNumber = 2,       ///< \p{N}
  kClassSpace = 4,        ///< \s
  kClassPunctuation = 8,  ///< \p{P}
  kClassSymbol = 16,      ///< \p{S}
  kClassMark = 32,        ///< \p{M}
  kClassNewline = 64,     ///< [\r\n]
  kClassEnd = 128,        ///< not a character: the end of the text
};

/// The class of a code point beyond ASCII.
uint8_t wide_char_class(uint32_t code) noexcept;

constexpr std::array<uint8_t, 128> make_ascii_classes() {
  std::array<uint8_t, 128> classes{};
  for (int c = 0; c < 128; ++c) {
    const auto in = [c](std::string_view set) {
      return set.find(static_cast<char>(c)) != std::string_view::npos;
    };
    uint8_t bits = kClassNone;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) bits = kClassLetter;
    if (c >= '0' && c <= '9') bits = kClassNumber;
    if (c == ' ' || (c >= 9 && c <= 13)) bits = kClassSpace;
    if (c == '\r' || c == '\n') bits |= kClassNewline;
    if (c != 0 && in("!\"#%&'()*,-./:;?@[\\]_{}")) bits = kClassPunctuation;
    if (c != 0 && in("$+<=>^`|~")) bits = kClassSymbol;
    classes[static_cast<size_t>(c)] = bits;
  }
  return classes;
}

inline constexpr std::array<uint8_t, 128> kAsciiClasses = make_ascii_classes();

/// One character of a text as a scanner sees it.
struct Char {
  uint32_t code = 0;
  uint32_t size = 0;  ///< bytes; 0 at the end of the text
  uint8_t bits = kClassEnd;

  [[nodiscard]] bool is(uint8_t mask) const { return (bits & mask) != 0; }
  /// [^\s\p{L}\p{N}]: a character that is none of space, letter and number.
  [[nodiscard]] bool is_other() const {
    return !is(kClassLetter | kClassNumber | kClassSpace | kClassEnd);
  }
};

/// The character at `position` of well-formed UTF-8; Char{} at the end.
inline Char char_at(std::string_view text, size_t position) noexcept {
  if (position >= text.size()) return {};
  const auto first = static_cast<uint8_t>(text[position]);
  if (first < 0x80) return {first, 1, kAsciiClasses[first]};
  const CodePoint point = utf8_decode_valid(text.data() + position);
  return {point.code, point.size, wide_char_class(point.code)};
}

/// The end of the run of characters with any bit of `mask` that starts at `position`.
inline size_t run_end(std::string_view text, size_t position, uint8_t mask) noexcept {
  for (Char c = char_at(text, position); c.is(mask); c = char_at(text, position)) {
    position += c.size;
  }
  return position;
}

}  // namespace tenon
