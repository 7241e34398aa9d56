#include "text/unicode/json_escapes.h"

#include <algorithm>

#include "text/unicode/hex_digit.h"

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

std::optional<std::string> without_half_surrogates(std::string_view json) {
  std::optional<std::string> repaired;
  for (size_t at = json.find('\\'); at < json.size(); at = json.find('\\', at)) {
    const std::optional<uint32_t> unit = json_unit(json.substr(at));
    if (!unit) {
      at += 2;  // a short escape, of a backslash for example
      continue;
    }
    const bool is_first = *unit >= 0xD800 && *unit < 0xDC00;
    const std::optional<uint32_t> next =
        is_first ? json_unit(json.substr(std::min(at + 6, json.size()))) : std::nullopt;
    if (next && *next >= 0xDC00 && *next < 0xE000) {
      at += 12;
      continue;
    }
    if (*unit >= 0xD800 && *unit < 0xE000) {
      if (!repaired) repaired.emplace(json);
      repaired->replace(at, 6, "\\ufffd");
    }
    at += 6;
  }
  return repaired;
}

}  // namespace tenon
