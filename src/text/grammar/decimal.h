// Exact decimal numbers as JSON writes them, limited to comparing texts of numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::grammar {

/// integer.fraction with a sign. The integer part has no leading zeros ("" is 0), the fraction no
/// trailing ones; zero is not negative.
struct Decimal {
  bool negative = false;
  std::string integer = {};
  std::string fraction = {};

  /// Number of a JSON text; empty for exponents beyond +-400.
  static std::optional<Decimal> parse(std::string_view json);
  [[nodiscard]] bool is_zero() const { return integer.empty() && fraction.empty(); }
  [[nodiscard]] bool is_integer() const { return fraction.empty(); }
  bool operator==(const Decimal&) const = default;
};

/// Negative, 0 or positive as a is less than, equal to or greater than b.
int compare(const Decimal& a, const Decimal& b);

}  // namespace tenon::grammar
