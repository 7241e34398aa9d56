// Text from files as it may stand in an error message: short, printable, in quotes.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>

namespace tenon {

/// `text` in double quotes; what is not printable ASCII as \xNN, at most 48 bytes of it.
inline std::string quoted(std::string_view text) {
  constexpr size_t kShown = 48;
  std::string out = "\"";
  for (const char c : text.substr(0, kShown)) {
    if (c >= ' ' && c <= '~' && c != '"') {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out + (text.size() > kShown ? "...\"" : "\"");
}

}  // namespace tenon
