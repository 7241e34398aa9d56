// Sets of characters, and how a set becomes bytes in an NFA.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/grammar/nfa.h"

namespace tenon::grammar {

inline constexpr uint32_t kLastCodePoint = 0x10FFFF;

/// A set of Unicode scalar values (surrogates are in none).
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
  /// A general category or group (L, Lu, Letter, Uppercase_Letter, ...) or one of Any, ASCII,
  /// Alphabetic, White_Space, Lowercase, Uppercase. False when the name is none of them.
  static bool property(std::string_view name, CodePoints& set);

  /// What adding a range, and sorting it in later, counts in a Budget.
  static constexpr uint64_t kRangeWork = 4;
  void add(uint32_t low, uint32_t high);
  void add(const CodePoints& other);
  [[nodiscard]] CodePoints inverse() const;
  /// With the other cases of its letters.
  [[nodiscard]] CodePoints any_case() const;
  /// Ascending, disjoint, without surrogates.
  [[nodiscard]] const std::vector<Range>& ranges() const;
  [[nodiscard]] bool empty() const { return ranges().empty(); }

 private:
  mutable std::vector<Range> ranges_;
  mutable bool sorted_ = true;
};

/// Edges over the UTF-8 of each character of the set.
void add_code_points(Nfa& nfa, const CodePoints& set, uint32_t from, uint32_t to);

}  // namespace tenon::grammar
