#include "text/grammar/canonical_json.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "text/unicode/json_escapes.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::grammar {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kMarks = "{}[],:";
constexpr std::string_view kDigits = "0123456789";

/// Character inside a string: its canonical spelling, and the number of bytes read.
struct Written {
  std::string text;
  size_t from;
};
Written character(std::string_view text) {
  if (text[0] != '\\' || text.size() < 2) return {std::string(text.substr(0, 1)), 1};
  if (text[1] == '/') return {"/", 2};
  const std::optional<uint32_t> first = json_unit(text);
  if (!first) return {std::string(text.substr(0, 2)), 2};
  uint32_t code = *first;
  size_t from = 6;
  if (code >= 0xD800 && code < 0xE000) {
    const std::optional<uint32_t> low = json_unit(text.substr(6));
    const bool pair = code < 0xDC00 && low && *low >= 0xDC00 && *low < 0xE000;
    if (!pair) return {std::string(text.substr(0, 6)), 6};
    code = 0x10000 + ((code - 0xD800) << 10) + (*low - 0xDC00);
    from = 12;
  }
  if (code < 0x80 && needs_json_escape(static_cast<char>(code))) {
    return {json_escape(static_cast<char>(code)), from};
  }
  Written out{"", from};
  utf8_append(code, out.text);
  return out;
}

/// "1.0" without its zero fraction; empty for a number with another fraction or none.
std::string without_zero_fraction(std::string_view number) {
  const size_t point = number.find('.');
  const size_t last = number.find_last_not_of('0');
  return point == number.npos || last != point || point + 1 == number.size()
             ? std::string()
             : std::string(number.substr(0, point));
}

/// Number without its exponent and zero fraction; empty for other text, for numbers that have
/// neither, and for too large an exponent.
std::string plain_number(std::string_view text) {
  const size_t e = text.find_first_of("eE");
  if (e == text.npos) return without_zero_fraction(text);
  std::string_view mantissa = text.substr(0, e), exponent = text.substr(e + 1);
  const bool negative = mantissa.starts_with('-');
  if (negative) mantissa.remove_prefix(1);
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::string_view integer = mantissa.substr(0, point);
  const std::string_view fraction = mantissa.substr(std::min(point + 1, mantissa.size()));
  const auto are_digits = [](std::string_view part) {
    return !part.empty() && part.find_first_not_of(kDigits) == part.npos;
  };
  const bool down = exponent.starts_with('-');
  if (down || exponent.starts_with('+')) exponent.remove_prefix(1);
  const bool is_number = are_digits(integer) && (integer.size() == 1 || integer[0] != '0') &&
                         (point == mantissa.size() || are_digits(fraction)) && are_digits(exponent);
  if (!is_number) return {};
  int moved = 0;
  for (const char c : exponent) moved = std::min(moved * 10 + (c - '0'), kMaxExponent + 1);
  if (moved > kMaxExponent) return {};
  // The decimal point goes after digit `at`.
  std::string digits = std::string(integer) + std::string(fraction);
  size_t at = integer.size();
  const auto by = static_cast<size_t>(moved);
  if (down && by >= at) {
    digits.insert(0, by - at + 1, '0');
    at = 1;
  } else if (down) {
    at -= by;
  } else {
    at += by;
    if (at > digits.size()) digits.append(at - digits.size(), '0');
  }
  size_t first = 0;
  while (first + 1 < at && digits[first] == '0') ++first;
  std::string out(negative ? "-" : "");
  out.append(digits, first, at - first);
  const size_t last = digits.find_last_not_of('0');
  const bool is_whole = last == digits.npos || last < at;
  if (at < digits.size() && !is_whole) out.append(".").append(digits, at);
  return out;
}

/// Names of the open objects.
class OpenNames {
 public:
  /// Takes a piece of canonical JSON: a punctuation mark, a string or another word. False for a
  /// duplicate name.
  bool take(std::string_view piece) {
    const char c = piece[0];
    if (c == '"') {
      return !std::exchange(name_next_, false) || open_.back()->emplace(piece).second;
    }
    if (c == '{') open_.push_back(std::make_unique<Names>());
    if (c == '[') open_.emplace_back();
    if ((c == '}' || c == ']') && !open_.empty()) open_.pop_back();
    name_next_ = (c == '{' || c == ',') && !open_.empty() && open_.back() != nullptr;
    return true;
  }

 private:
  using Names = std::set<std::string>;
  std::vector<std::unique_ptr<Names>> open_;  // null for an array
  bool name_next_ = false;
};

}  // namespace

bool canonical_json(std::string_view text, const std::function<bool(std::string_view)>& sink) {
  char last = ',';  // mark before the text, to drop leading space
  size_t at = 0;
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    const char c = rest[0];
    if (kSpace.find(c) != kSpace.npos) {
      const size_t end = std::min(rest.find_first_not_of(kSpace), rest.size());
      at += end;
      // Space between two words separates them.
      const bool needless = kMarks.find(last) != kMarks.npos || at == text.size() ||
                            kMarks.find(text[at]) != kMarks.npos;
      if (!needless && !sink(" ")) return false;
      continue;
    }
    last = c;
    if (c == '"') {
      size_t end = 1;
      std::string out = "\"";
      while (end < rest.size() && rest[end] != '"') {
        const Written one = character(rest.substr(end));
        out += one.text;
        end += one.from;
      }
      if (end < rest.size()) {
        out += '"';
        ++end;
      }
      if (!sink(out)) return false;
      at += std::min(end, rest.size());
    } else if (c == '-' || kDigits.find(c) != kDigits.npos) {
      const size_t end = std::min(rest.find_first_not_of("0123456789+-.eE"), rest.size());
      const std::string number = plain_number(rest.substr(0, end));
      if (!sink(number.empty() ? rest.substr(0, end) : std::string_view(number))) return false;
      at += end;
    } else {
      if (!sink(rest.substr(0, 1))) return false;
      ++at;
    }
  }
  return true;
}

bool repeats_a_name(std::string_view text) {
  OpenNames names;
  return !canonical_json(text, [&](std::string_view piece) { return names.take(piece); });
}

}  // namespace tenon::grammar
