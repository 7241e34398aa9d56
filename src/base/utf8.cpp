#include "base/utf8.h"

#include <fmt/format.h>

#include <cstdint>

namespace tenon {
namespace {

/// Length of the well-formed sequence at the start of `text`; 0 if it is ill-formed (Unicode, table
/// 3-7).
size_t sequence_length(std::string_view text) noexcept {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  if (text.empty()) return 0;
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first < 0xC2   ? 0
                        : first < 0xE0 ? 2
                        : first < 0xF0 ? 3
                        : first < 0xF5 ? 4
                                       : 0;
  if (length == 0 || text.size() < length) return 0;
  const uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

/// Appends at most `max_bytes` of `text`, with a backslash before characters of `escaped`. Returns
/// the number of bytes taken from `text`.
size_t append_printable(std::string& out, std::string_view text, size_t max_bytes,
                        std::string_view escaped) {
  size_t done = 0;
  while (done < text.size()) {
    const size_t length = sequence_length(text.substr(done, 4));
    const auto first = static_cast<uint8_t>(text[done]);
    const size_t step = length == 0 ? 1 : length;
    if (done + step > max_bytes) break;
    if (length == 0 || first < 0x20 || first == 0x7F) {
      out += fmt::format("\\x{:02x}", first);
    } else {
      if (escaped.find(text[done]) != std::string_view::npos) out += '\\';
      out += text.substr(done, length);
    }
    done += step;
  }
  return done;
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const size_t length = sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string printable(std::string_view text, size_t max_bytes) {
  std::string out;
  append_printable(out, text, max_bytes, "");
  return out;
}

std::string quoted(std::string_view text, size_t max_bytes) {
  std::string out = "\"";
  const size_t done = append_printable(out, text, max_bytes, "\"\\");
  out += done < text.size() ? "...\"" : "\"";
  return out;
}

}  // namespace tenon
