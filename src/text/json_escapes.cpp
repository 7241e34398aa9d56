#include "text/json_escapes.h"

#include "text/hex_digit.h"

namespace tenon {

std::string json_escape(char c) {
  for (const ShortEscape& known : kShortEscapes) {
    if (known.code == c) return {'\\', known.letter};
  }
  std::string out;
  append_json_unit(static_cast<uint8_t>(c), out);
  return out;
}

void append_json_unit(uint32_t unit, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[unit >> shift & 15];
}

void append_json_escaped(std::string_view text, std::string& out) {
  for (const char c : text) {
    if (needs_json_escape(c)) {
      out += json_escape(c);
    } else {
      out += c;
    }
  }
}

std::optional<uint32_t> json_unit(std::string_view text) {
  if (text.size() < 6 || !text.starts_with("\\u")) return std::nullopt;
  uint32_t unit = 0;
  for (const char c : text.substr(2, 4)) {
    const int digit = hex_digit(c);
    if (digit < 0) return std::nullopt;
    unit = unit * 16 + static_cast<uint32_t>(digit);
  }
  return unit;
}

}  // namespace tenon
