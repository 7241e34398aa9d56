// Escapes of characters in JSON strings (RFC 8259, section 7).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon {

/// An escape of a backslash and a letter.
struct ShortEscape {
  char letter;
  char code;
};
/// All short escapes; writers need none for '/'.
inline constexpr std::array kShortEscapes = {ShortEscape{'"', '"'},  ShortEscape{'\\', '\\'},
                                             ShortEscape{'/', '/'},  ShortEscape{'b', '\b'},
                                             ShortEscape{'f', '\f'}, ShortEscape{'n', '\n'},
                                             ShortEscape{'r', '\r'}, ShortEscape{'t', '\t'}};

/// True if a string must escape the character: a quote, a backslash, a control character.
constexpr bool needs_json_escape(char c) {
  return static_cast<uint8_t>(c) < 0x20 || c == '"' || c == '\\';
}
/// The shortest escape of an ASCII character: "\n", "\u001f".
std::string json_escape(char c);
/// Appends "\uXXXX" for a code unit of UTF-16.
void append_json_unit(uint32_t unit, std::string& out);
/// Appends a text, escaped for the inside of a string.
void append_json_escaped(std::string_view text, std::string& out);

/// The code unit of "\uXXXX" at the start of a text, if any.
std::optional<uint32_t> json_unit(std::string_view text);

/// Replaces escapes of unpaired surrogates by U+FFFD; returns nothing if there are none. JavaScript
/// writes such escapes for texts cut inside a character.
std::optional<std::string> without_half_surrogates(std::string_view json);

}  // namespace tenon
