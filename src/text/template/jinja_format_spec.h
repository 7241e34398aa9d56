// Layout of one value in a formatted string: "%-08.3f" and "{:<8.3f}". jinja_printf.cpp selects the
// values.
#pragma once

#include <optional>
#include <string_view>

#include "text/template/jinja_value.h"

namespace tenon::jinja {

/// Limits of widths and precisions.
inline constexpr int64_t kMaxFormatWidth = 1 << 20;
inline constexpr int kMaxPrecision = 200;

struct FormatSpec {
  enum class Align : uint8_t { Left, Right, Center, BehindSign };

  char type = 0;
  char sign = 0;                  // '+', ' ' or 0
  char grouping = 0;              // ',' or '_' between digits
  bool alternate = false;         // '#'
  bool no_negative_zero = false;  // 'z'
  std::optional<Align> align{};
  Text fill{" "};
  int64_t width = 0;
  int precision = -1;
  int64_t least_digits = 0;  ///< pads an integer with zeros to this many digits
};

/// Reads digits from `at` on and advances it. Throws Failure beyond kMaxFormatWidth.
int64_t read_number(std::string_view text, size_t& at);

/// Formats an integer with type 'd' (or 'b', 'o', 'x', 'X'), a float with "eEfFgG%" or 0 (repr).
Text integer_text(int64_t value, const FormatSpec& spec, Budget& budget);
Text real_text(double value, const FormatSpec& spec, Budget& budget);
/// Cuts to the precision and pads; `standard` is the default alignment.
Text aligned_text(Text text, const FormatSpec& spec, FormatSpec::Align standard, Budget& budget);

/// format(value, text): text is the part after the colon of "{:...}".
Text formatted(const Value& value, std::string_view text, Budget& budget);

}  // namespace tenon::jinja
