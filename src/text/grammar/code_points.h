// Sets of characters, and their conversion to bytes in an NFA.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/grammar/nfa.h"

namespace tenon::grammar {

inline constexpr uint32_t kLastCodePoint = 0x10FFFF;

/// Set of Unicode scalar values, which exclude surrogates.
class CodePoints {
 public:
  struct Range {
    uint32_t low;
    uint32_t high;
    bool operator==(const Range&) const = default;
  };

  CodePoints() = default;
  static CodePoints all();
  static CodePoints of(uint32_t low, uint32_t high) {
    CodePoints set;
    set.add(low, high);
    return set;
  }
  /// \d, \w, \s of ECMA-262, by their letter.
  static CodePoints escape_class(char letter);
  /// Looks up a general category or group (L, Lu, Letter, Uppercase_Letter, ...) or one of Any,
  /// ASCII, Alphabetic, White_Space, Lowercase, Uppercase. False for other names.
  static bool property(std::string_view name, CodePoints& set);

  /// Budget steps for adding a range and sorting it in.
  static constexpr uint64_t kRangeWork = 4;
  void add(uint32_t low, uint32_t high);
  void add(const CodePoints& other);
  [[nodiscard]] CodePoints inverse() const;
  /// Set with the other cases of its letters.
  [[nodiscard]] CodePoints any_case() const;
  /// Ascending, disjoint, without surrogates.
  [[nodiscard]] const std::vector<Range>& ranges() const;
  [[nodiscard]] bool empty() const { return ranges().empty(); }

 private:
  mutable std::vector<Range> ranges_;
  mutable bool sorted_ = true;
};

/// Adds edges over the UTF-8 of each character of the set.
void add_code_points(Nfa& nfa, const CodePoints& set, uint32_t from, uint32_t to);

}  // namespace tenon::grammar
