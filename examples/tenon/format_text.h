// Text from a format of printf's.
#pragma once

#include <array>
#include <cstdarg>
#include <cstdio>
#include <string>

namespace tenon_program {

/// Cut after 511 bytes.
[[gnu::format(printf, 1, 2)]] inline std::string format_text(const char* format, ...) {
  std::array<char, 512> text{};
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  return text.data();
}

}  // namespace tenon_program
