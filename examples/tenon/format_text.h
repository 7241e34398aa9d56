// Formats text as printf does, joins words, and counts in words.
#pragma once

#include <array>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <vector>

namespace tenon_program {

#ifdef __MINGW_PRINTF_FORMAT  // __USE_MINGW_ANSI_STDIO gives it C++'s formats
#define TENON_PRINTF_FORMAT __MINGW_PRINTF_FORMAT
#else
#define TENON_PRINTF_FORMAT printf
#endif

/// Truncates after 511 bytes.
[[gnu::format(TENON_PRINTF_FORMAT, 1, 2)]] inline std::string format_text(const char* format, ...) {
  std::array<char, 512> text{};
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  return text.data();
}

/// "a, b, c"
inline std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

/// "1 thread", "2 threads"
inline std::string counted(unsigned long long count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// "1.24 billion", "260 thousand"
inline std::string rounded_count(double count) {
  if (count >= 1e9) return format_text("%.2f billion", count / 1e9);
  if (count >= 1e6) return format_text("%.2f million", count / 1e6);
  return count >= 1e3 ? format_text("%.0f thousand", count / 1e3) : format_text("%.0f", count);
}

}  // namespace tenon_program
