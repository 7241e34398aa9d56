// Texts of an automaton with an upper end of their length: the length is counted while a text is read,
// so that the automaton keeps its size. Written out it would have a state for each state and length.
//
//   a+ "@" b+ of at most 100 characters: before the @ at most 98 may have been read
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "text/grammar/dfa.h"

namespace tenon::grammar {

/// What a register asks for before each counted step.
struct CountLimit {
  /// [states] the number must be below it when a step leads to the state.
  std::vector<uint32_t> below;
};

/// How many characters there are to the ends of texts, from each state of a minimised automaton over
/// UTF-8.
class CharacterCounts {
 public:
  CharacterCounts(const Dfa& dfa, Budget& budget) : CharacterCounts(dfa, false, budget) {}

  /// Of the whole text; UINT64_MAX: there is no longest one.
  [[nodiscard]] uint64_t most() const { return most_; }
  /// Whether from every state a shortest way as a JSON string, by bytes, has the fewest characters:
  /// the distance to the end is then the same whatever the count is.
  [[nodiscard]] bool fewest_are_shortest() const { return fewest_are_shortest_; }
  /// Nothing when no text is as short.
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

/// A limit of digits for the texts of numbers, far beyond what numbers have; nothing where they have
/// an end anyway.
std::optional<CountLimit> limit_of_digits(const Dfa& dfa, Budget& budget);
inline constexpr uint32_t kMostDigits = 40;

}  // namespace tenon::grammar
