// Deterministic finite automata (DFA) over the bytes of a text: combining, minimising, and
// conversion to an NFA. A state's label tells kinds of texts apart; 0 means that the text is
// rejected.
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

/// Identity of a cached automaton (kept_parts.h): equal numbers mean the same automaton. A copy may
/// change, so it has no number.
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
  /// 0 means none.
  [[nodiscard]] uint64_t get() const { return number_; }

 private:
  uint64_t number_ = 0;
};

/// A byte outside all ranges leads to kDead.
struct Dfa {
  std::vector<uint32_t> begin{0};  ///< [states + 1] into ranges
  std::vector<ByteRange> ranges;   ///< per state: ascending, disjoint
  std::vector<uint32_t> label;     ///< [states] 0: no text ends at the state
  uint32_t start = 0;
  DfaNumber number{};

  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(label.size()); }
  [[nodiscard]] std::span<const ByteRange> of(uint32_t state) const {
    return std::span(ranges).subspan(begin[state], begin[state + 1] - begin[state]);
  }
  /// State after a byte; kDead if none, or from kDead.
  [[nodiscard]] uint32_t step(uint32_t state, uint8_t byte) const;
  /// Label of a whole text.
  [[nodiscard]] uint32_t run(std::string_view text) const;
  /// True if no text has a label; requires a trimmed automaton.
  [[nodiscard]] bool empty() const { return size() == 0; }
  /// Length of the shortest text with a label; kDead if none.
  [[nodiscard]] uint32_t shortest() const;
};

/// Removes states that reach no label, and merges equal states of small automata.
Dfa minimise(const Dfa& dfa, Budget& budget);

/// Appends words that identify the automaton: its number, or else its states.
void append_words(const Dfa& dfa, std::string& out);

/// Product of automata run in parallel, minimised. `label` maps the labels of all of them, 0 for an
/// automaton that has died, to the product's. Texts that the first automaton rejects early are
/// dropped.
Dfa combine(std::span<const Dfa* const> parts,
            const std::function<uint32_t(std::span<const uint32_t>)>& label, Budget& budget);

/// Accepts any well-formed UTF-8.
Dfa any_text(Budget& budget);
/// Intersection, difference (in a but not in b), and union.
Dfa both(const Dfa& a, const Dfa& b, Budget& budget);
Dfa without(const Dfa& a, const Dfa& b, Budget& budget);
Dfa either(const Dfa& a, const Dfa& b, Budget& budget);
/// Accepts the given texts; text i has label i + 1, or 1 with `same_label`.
Dfa of_texts(std::span<const std::string> texts, bool same_label, Budget& budget);
/// Accepts texts of minimum..maximum characters.
Dfa of_length(uint64_t minimum, uint64_t maximum, Budget& budget);

/// Adds a DFA to an NFA: from `from` to `to(label)` for every text with a label.
void add_dfa(Nfa& nfa, const Dfa& dfa, uint32_t from,
             const std::function<uint32_t(uint32_t label)>& to);

}  // namespace tenon::grammar
