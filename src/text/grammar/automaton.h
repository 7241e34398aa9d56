// Compiled grammar: a recursive transition network whose rules are deterministic, as tables over
// classes of bytes, with each state's distance to the nearest end. Immutable; the matching state
// lives in pushdown_machine.h.
//
//   list = "[" (item ("," item)*)? "]"
//     1 -[-> 2,  2 -item-> 3,  3 -,-> 4,  4 -item-> 3,  2 -]-> 5,  3 -]-> 5;  start 1, final 5
//
// A call such as "item" counts as the shortest text of its rule. If that is 1 byte, the distance of
// state 4 is 2: an item and "]".
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <vector>

#include "text/grammar/subset_construction.h"

namespace tenon::grammar {

/// Distance larger than that of any accepted text.
inline constexpr uint32_t kFar = 1'000'000'000;
/// a + b, saturating at kFar.
constexpr uint32_t add_far(uint64_t a, uint64_t b) {
  return static_cast<uint32_t>(std::min<uint64_t>(a + b, kFar));
}

using ByteSet = std::bitset<256>;

/// State 0 is dead. `RuleInfo` describes the register of a rule.
class Automaton {
 public:
  struct RuleInfo {
    uint32_t start = 0;
    uint32_t object = kNoObject;
    bool counts = false;
    uint32_t shortest = kFar;  ///< bytes of its shortest text
    uint32_t unit_bytes = 0;   ///< maximum bytes of one more item of a counting rule
    uint32_t at_least = 0;     ///< minimum count of a counting rule
  };
  /// Counting or taking action, `distance` bytes ahead, with no other such action before it.
  struct Ahead {
    uint32_t action;
    uint32_t distance;
    uint32_t rest;  ///< bytes from the action to the end of the rule, as base()
  };

  /// Compiles rule 0 and the rules it reaches. Throws Error(Grammar) for left recursion, and if no
  /// text is complete.
  explicit Automaton(const Nfa& nfa);

  /// Grammar without the bytes outside `allowed`. Throws Error(Grammar) "no token can follow" if no
  /// text is left.
  [[nodiscard]] Automaton restricted_to(const ByteSet& allowed, WorkWatch* watch = nullptr) const;

  [[nodiscard]] uint32_t num_states() const { return static_cast<uint32_t>(rule_of_.size()); }
  [[nodiscard]] uint32_t num_classes() const { return num_classes_; }
  [[nodiscard]] uint8_t class_of(uint8_t byte) const { return class_of_[byte]; }
  [[nodiscard]] uint8_t byte_of(uint32_t byte_class) const { return byte_of_[byte_class]; }
  /// Number of bytes in a class.
  [[nodiscard]] uint32_t class_size(uint32_t byte_class) const { return class_size_[byte_class]; }
  [[nodiscard]] uint32_t next(uint32_t state, uint32_t byte_class) const {
    if (!next_.empty()) return next_[size_t{state} * num_classes_ + byte_class];
    // A large automaton's states have few ranges; callers cache their steps.
    const uint8_t byte = byte_of_[byte_class];
    for (const ByteRange& range : ranges(state)) {
      if (byte <= range.high) return byte >= range.low ? range.to : 0;
    }
    return 0;
  }
  [[nodiscard]] std::span<const Special> specials(uint32_t state) const {
    return slice(specials_, special_begin_, state);
  }
  [[nodiscard]] uint32_t num_rules() const { return static_cast<uint32_t>(rules_.size()); }
  [[nodiscard]] uint32_t num_specials() const { return static_cast<uint32_t>(specials_.size()); }
  [[nodiscard]] const Special& special(uint32_t index) const { return specials_[index]; }
  [[nodiscard]] uint32_t index_of(const Special& special) const {
    return static_cast<uint32_t>(&special - specials_.data());
  }
  [[nodiscard]] std::span<const Ahead> ahead(uint32_t state) const {
    return slice(ahead_, ahead_begin_, state);
  }
  [[nodiscard]] bool is_final(uint32_t state) const { return (flags_[state] & kFinal) != 0; }
  [[nodiscard]] bool has_bytes(uint32_t state) const { return (flags_[state] & kBytes) != 0; }
  /// True if a caller that returns to this state has nothing left to do in its own rule.
  [[nodiscard]] bool only_returns(uint32_t state) const { return (flags_[state] & kReturns) != 0; }
  /// True if the state is alive only while one of ahead() is allowed.
  [[nodiscard]] bool is_guarded(uint32_t state) const { return guard_[state] != 0; }
  /// Equal for states with the same actions in ahead(), which are all alive or all dead for a given
  /// register. 0 means not guarded.
  [[nodiscard]] uint32_t guard(uint32_t state) const { return guard_[state]; }
  /// Bytes to the end of the rule without any further counting or taking; kFar if impossible.
  [[nodiscard]] uint32_t base(uint32_t state) const { return base_[state]; }
  [[nodiscard]] uint32_t rule_of(uint32_t state) const { return rule_of_[state]; }
  [[nodiscard]] const RuleInfo& rule(uint32_t index) const { return rules_[index]; }
  [[nodiscard]] const Action& action(uint32_t index) const { return actions_[index]; }
  [[nodiscard]] const ObjectSpec& object(uint32_t index) const { return objects_[index]; }
  /// True if an object has name_kinds.
  [[nodiscard]] bool has_name_kinds() const {
    return std::any_of(objects_.begin(), objects_.end(),
                       [](const ObjectSpec& object) { return object.name_kinds > 0; });
  }
  [[nodiscard]] size_t size_bytes() const;

 private:
  static constexpr uint8_t kFinal = 1, kBytes = 2, kReturns = 4;

  template <typename T>
  static std::span<const T> slice(const std::vector<T>& all, const std::vector<uint32_t>& begin,
                                  uint32_t state) {
    return std::span(all).subspan(begin[state], begin[state + 1] - begin[state]);
  }
  [[nodiscard]] std::span<const ByteRange> ranges(uint32_t state) const {
    return slice(ranges_, range_begin_, state);
  }
  void add_rules(const Nfa& nfa);
  void refuse_left_recursion(const Nfa& nfa) const;
  void finish(Budget& budget);
  void remove_dead_ends(Budget& budget);
  void measure(Budget& budget);
  void measure_rule(uint32_t rule);
  [[nodiscard]] uint32_t shortest_of(const RuleInfo& rule) const;
  [[nodiscard]] std::vector<bool> ends_freely(uint32_t rule) const;
  void find_ahead(Budget& budget);
  void make_table(Budget& budget);

  uint32_t num_classes_ = 0;
  std::array<uint8_t, 256> class_of_{};
  std::vector<uint8_t> byte_of_;
  std::vector<uint32_t> class_size_;
  std::vector<uint32_t> next_;                                       // [states, classes]
  std::vector<uint32_t> range_begin_, special_begin_, ahead_begin_;  // [states + 1]
  std::vector<ByteRange> ranges_;
  std::vector<Special> specials_;
  std::vector<Ahead> ahead_;
  std::vector<uint8_t> flags_;     // [states]
  std::vector<uint32_t> guard_;    // [states]
  std::vector<uint32_t> base_;     // [states]
  std::vector<uint32_t> rule_of_;  // [states]
  std::vector<RuleInfo> rules_;
  std::vector<std::vector<uint32_t>> states_of_;  // [rules]
  std::vector<std::string> places_;               // [rules]
  std::vector<Budget::Unit> units_;               // [rules]
  std::vector<Action> actions_;
  std::vector<ObjectSpec> objects_;
};

}  // namespace tenon::grammar
