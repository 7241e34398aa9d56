#include "text/grammar/decimal.h"

#include <algorithm>

namespace tenon::grammar {

std::optional<Decimal> Decimal::parse(std::string_view json) {
  constexpr int kMaxDecimalExponent = 400;
  Decimal result;
  if (json.starts_with('-')) {
    result.negative = true;
    json.remove_prefix(1);
  }
  const size_t e = json.find_first_of("eE");
  std::string_view mantissa = json.substr(0, e);
  int exponent = 0;
  if (e != std::string_view::npos) {
    std::string_view digits = json.substr(e + 1);
    const bool down = digits.starts_with('-');
    if (down || digits.starts_with('+')) digits.remove_prefix(1);
    for (const char c : digits) {
      exponent = std::min(exponent * 10 + (c - '0'), 10 * kMaxDecimalExponent);
    }
    if (down) exponent = -exponent;
  }
  const size_t point = mantissa.find('.');
  std::string integer(mantissa.substr(0, point));
  std::string fraction(point == std::string_view::npos ? "" : mantissa.substr(point + 1));
  const bool zero = (integer + fraction).find_first_not_of('0') == std::string::npos;
  if (zero) return Decimal();
  if (exponent > kMaxDecimalExponent || exponent < -kMaxExponent) return std::nullopt;
  for (; exponent > 0; --exponent) {
    integer += fraction.empty() ? '0' : fraction.front();
    if (!fraction.empty()) fraction.erase(0, 1);
  }
  for (; exponent < 0; ++exponent) {
    fraction.insert(fraction.begin(), integer.empty() ? '0' : integer.back());
    if (!integer.empty()) integer.pop_back();
  }
  integer.erase(0, std::min(integer.find_first_not_of('0'), integer.size()));
  fraction.erase(fraction.find_last_not_of('0') + 1);
  result.integer = std::move(integer);
  result.fraction = std::move(fraction);
  return result;
}

int compare(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  int order = 0;
  if (a.integer.size() != b.integer.size()) {
    order = a.integer.size() < b.integer.size() ? -1 : 1;
  } else {
    order = a.integer.compare(b.integer);
    if (order == 0) order = a.fraction.compare(b.fraction);
  }
  return a.negative ? -order : order;
}

}  // namespace tenon::grammar
