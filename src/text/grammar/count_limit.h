// Upper bounds on the length of an automaton's texts, counted while reading. Unrolled, the
// automaton would need a state per state and length.
//
//   a+ "@" b+ of at most 100 characters: before the @ at most 98 may have been read
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "text/grammar/dfa.h"

namespace tenon::grammar {

/// Bounds that a register checks before each counted step.
struct CountLimit {
  /// [states] exclusive bound of the count at a step into the state.
  std::vector<uint32_t> below;
};

/// Number of characters from each state of a minimised automaton over UTF-8 to an end.
class CharacterCounts {
 public:
  CharacterCounts(const Dfa& dfa, Budget& budget) : CharacterCounts(dfa, false, budget) {}

  /// Most characters of a text; UINT64_MAX if unbounded.
  [[nodiscard]] uint64_t most() const { return most_; }
  /// True if, from every state, a path with the fewest JSON bytes also has the fewest characters.
  /// The distance to the end is then independent of the count.
  [[nodiscard]] bool fewest_are_shortest() const { return fewest_are_shortest_; }
  /// Bounds for texts of at most `maximum` characters; empty if no text is that short.
  [[nodiscard]] std::optional<CountLimit> limited_to(uint32_t maximum) const;

 private:
  friend std::optional<CountLimit> limit_of_digits(const Dfa& dfa, Budget& budget);
  CharacterCounts(const Dfa& dfa, bool digits, Budget& budget);
  void measure(const Dfa& dfa, bool digits, Budget& budget);
  void find_most(const Dfa& dfa, bool digits, Budget& budget);

  std::vector<uint32_t> fewest_;  // [states]
  uint32_t start_ = 0;
  uint64_t most_ = 0;
  bool fewest_are_shortest_ = true;
};

/// Generous limit on the digits of a number; empty if the texts are bounded anyway.
std::optional<CountLimit> limit_of_digits(const Dfa& dfa, Budget& budget);
inline constexpr uint32_t kMostDigits = 40;

}  // namespace tenon::grammar
