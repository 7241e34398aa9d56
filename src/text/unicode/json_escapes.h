// How JSON strings spell characters that they cannot hold as they are (RFC 8259, section 7).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon {

/// A backslash and a letter.
struct ShortEscape {
  char letter;
  char code;
};
/// The short escapes; a writer needs no one for '/'.
inline constexpr std::array kShortEscapes = {ShortEscape{'"', '"'},  ShortEscape{'\\', '\\'},
                                             ShortEscape{'/', '/'},  ShortEscape{'b', '\b'},
                                             ShortEscape{'f', '\f'}, ShortEscape{'n', '\n'},
                                             ShortEscape{'r', '\r'}, ShortEscape{'t', '\t'}};

/// Whether a string must escape the character: a quote, a backslash, a control character.
constexpr bool needs_json_escape(char c) {
  return static_cast<uint8_t>(c) < 0x20 || c == '"' || c == '\\';
}
/// The shortest escape of an ASCII character: "\n", "\u001f".
std::string json_escape(char c);
/// Appends "\uXXXX" for one code unit of UTF-16.
void append_json_unit(uint32_t unit, std::string& out);
/// Appends a text as it stands inside a string: escaped where it must be.
void append_json_escaped(std::string_view text, std::string& out);

/// The code unit of the "\uXXXX" that a text begins with.
std::optional<uint32_t> json_unit(std::string_view text);

/// Replaces escapes of unpaired surrogates by U+FFFD; nothing if there are none. JavaScript writes
/// such escapes after cutting a text inside a character.
std::optional<std::string> without_half_surrogates(std::string_view json);

}  // namespace tenon
