// Deterministic finite automata (DFA) over the bytes of a text: combined, minimised, written down
// as an NFA again. A state's label tells texts of several kinds apart; 0: the text is of none.
//
//   of_texts({"ab", "ac"}): 0 -a-> 1,  1 -b-> 2 (label 1),  1 -c-> 3 (label 2)
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "text/grammar/nfa.h"

namespace tenon::grammar {

inline constexpr uint32_t kDead = UINT32_MAX;

struct ByteRange {
  uint8_t low;
  uint8_t high;
  uint32_t to;
  bool operator==(const ByteRange&) const = default;
};

/// Number of an automaton that is kept (kept_parts.h): equal ones are the same automaton. A copy,
/// which may change, has none.
class DfaNumber {
 public:
  DfaNumber() = default;
  explicit DfaNumber(uint64_t number) : number_(number) {}
  DfaNumber(const DfaNumber&) noexcept {}
  DfaNumber(DfaNumber&& other) noexcept : number_(std::exchange(other.number_, 0)) {}
  DfaNumber& operator=(const DfaNumber&) noexcept {
    number_ = 0;
    return *this;
  }
  DfaNumber& operator=(DfaNumber&& other) noexcept {
    number_ = std::exchange(other.number_, 0);
    return *this;
  }
  ~DfaNumber() = default;
  /// 0: none.
  [[nodiscard]] uint64_t get() const { return number_; }

 private:
  uint64_t number_ = 0;
};

/// A byte without a range leads nowhere.
struct Dfa {
  std::vector<uint32_t> begin{0};  ///< [states + 1] into ranges
  std::vector<ByteRange> ranges;   ///< of a state: ascending, disjoint
  std::vector<uint32_t> label;     ///< [states] 0: no text ends here
  uint32_t start = 0;
  DfaNumber number{};

  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(label.size()); }
  [[nodiscard]] std::span<const ByteRange> of(uint32_t state) const {
    return std::span(ranges).subspan(begin[state], begin[state + 1] - begin[state]);
  }
  /// The state after a byte; kDead when there is none, or for kDead.
  [[nodiscard]] uint32_t step(uint32_t state, uint8_t byte) const;
  /// The label of a whole text.
  [[nodiscard]] uint32_t run(std::string_view text) const;
  /// Whether no text has a label (of a trimmed automaton).
  [[nodiscard]] bool empty() const { return size() == 0; }
  /// Length of the shortest text with a label; kDead when there is none.
  [[nodiscard]] uint32_t shortest() const;
};

/// States that reach no label go; of small automata equal states become one.
Dfa minimise(const Dfa& dfa, Budget& budget);

/// Appends what tells it from other automata: its number, or else its states.
void append_words(const Dfa& dfa, std::string& out);

/// The product of automata, run side by side. `label` is asked with the labels of all of them, 0
/// for one that came to its end before; texts that the first does not follow are left out.
/// Minimised.
Dfa combine(std::span<const Dfa* const> parts,
            const std::function<uint32_t(std::span<const uint32_t>)>& label, Budget& budget);

/// Any well-formed UTF-8.
Dfa any_text(Budget& budget);
/// Texts in both; in a but not in b; in either.
Dfa both(const Dfa& a, const Dfa& b, Budget& budget);
Dfa without(const Dfa& a, const Dfa& b, Budget& budget);
Dfa either(const Dfa& a, const Dfa& b, Budget& budget);
/// The given texts; the i-th has label i + 1, or 1 with `same_label`.
Dfa of_texts(std::span<const std::string> texts, bool same_label, Budget& budget);
/// Texts of minimum..maximum characters.
Dfa of_length(uint64_t minimum, uint64_t maximum, Budget& budget);

/// Puts a Dfa into an NFA: from `from` to `to(label)` for every text with a label.
void add_dfa(Nfa& nfa, const Dfa& dfa, uint32_t from,
             const std::function<uint32_t(uint32_t label)>& to);

}  // namespace tenon::grammar
