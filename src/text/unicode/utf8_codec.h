// UTF-8: decoding, validation, replacement of ill-formed parts; no character properties.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

inline constexpr uint32_t kReplacementCharacter = 0xFFFD;
inline constexpr std::string_view kReplacementUtf8 = "\xEF\xBF\xBD";

/// The unit at the start of some bytes.
struct Utf8Unit {
  enum Kind {
    Whole,       ///< one character
    Unfinished,  ///< the bytes end inside a character that may still be completed
    IllFormed,   ///< a maximal ill-formed part: no continuation makes it well-formed
  };
  Kind kind;
  uint32_t size;  ///< bytes, at least 1
  uint32_t code;  ///< the code point if Whole, else kReplacementCharacter
};

/// Examines the start of `bytes`, which must not be empty. Overlong forms, surrogates and values
/// above U+10FFFF are ill-formed; sizes follow the "maximal subpart" rule (Unicode 15, 3.9).
Utf8Unit utf8_unit(std::string_view bytes) noexcept;

/// Length of the longest well-formed prefix of `bytes`.
size_t utf8_valid_prefix(std::string_view bytes) noexcept;

/// Appends `code`, a Unicode scalar value, as UTF-8.
void utf8_append(uint32_t code, std::string& out);

/// Appends `bytes` with every maximal ill-formed (or unfinished) part replaced by U+FFFD.
void utf8_append_repaired(std::string_view bytes, std::string& out);

/// True for a continuation byte.
inline bool utf8_continues(char byte) noexcept {
  return (static_cast<uint8_t>(byte) & 0xC0) == 0x80;
}

/// Longest prefix of well-formed text with at most max_bytes and no partial character.
inline std::string_view utf8_prefix(std::string_view text, size_t max_bytes) noexcept {
  if (text.size() <= max_bytes) return text;
  while (max_bytes > 0 && utf8_continues(text[max_bytes])) --max_bytes;
  return text.substr(0, max_bytes);
}

/// A decoded character of well-formed text.
struct CodePoint {
  uint32_t code;
  uint32_t size;  ///< bytes
};

/// Decodes the character at `at` of well-formed UTF-8. Relies on well-formedness instead of bounds.
inline CodePoint utf8_decode_valid(const char* at) noexcept {
  const auto byte = [at](int i) { return static_cast<uint32_t>(static_cast<uint8_t>(at[i])); };
  const uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xE0) return {(first & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (first < 0xF0) return {(first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F),
          4};
}

}  // namespace tenon
