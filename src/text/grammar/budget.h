// What compiling one grammar may cost: work, nodes and bytes are counted, so that the same input is
// refused on every machine alike. Run-time limits live elsewhere.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/stack_room.h"

namespace tenon::grammar {

/// Resources used by a part of a compilation.
struct BudgetUse {
  uint64_t work = 0;
  uint64_t parts = 0;
  uint64_t nodes = 0;
  uint64_t states = 0;
};

/// One per compilation. The limits keep a compilation within 250 ms and 64 MB
/// (grammar_limits_test).
///
/// A compilation of independent things, such as a conversation's tools, has a unit for each. The
/// limits apply per unit; all units together may take kMaxUnits times as much.
class Budget {
 public:
  using Unit = uint32_t;
  static constexpr Unit kWhole = 0;  ///< unit of everything outside other units
  static constexpr uint64_t kMaxUnits = 256;
  static constexpr uint64_t kMaxHeldStates = 1'600'000;  ///< of the automaton, all units together

  /// Begins a unit, which owns all that follows. name: for messages of later stages.
  Unit begin_unit(std::string name) {
    units_.push_back({.name = std::move(name)});
    return unit_ = static_cast<Unit>(units_.size() - 1);
  }
  /// Budget of a part that is compiled on its own: what it uses is charged afterwards.
  [[nodiscard]] Budget for_part() const {
    Budget part;
    part.place_ = place_;
    part.find_place_ = find_place_;
    return part;
  }
  /// Returns to an earlier unit.
  void enter(Unit unit) {
    unit_ = unit;
    names_unit_ = unit != kWhole;
  }
  [[nodiscard]] Unit unit() const { return unit_; }
  /// Number of units, the whole included, at most kMaxUnits.
  [[nodiscard]] uint64_t num_units() const { return std::min<uint64_t>(units_.size(), kMaxUnits); }
  [[nodiscard]] const BudgetUse& used() const { return units_[unit_].use; }
  /// Charges a cached result with its original cost.
  void charge(const BudgetUse& use) {
    add_parts(use.parts);
    add_nodes(use.nodes);
    add_states(use.states);
    spend(use.work);
  }
  /// Charges all units together once for `key`, whose cost was already counted.
  void pay_once(const std::string& key, const BudgetUse& use) {
    if (paid_.insert(key).second) return;
    sum_.work -= use.work;
    sum_.parts -= use.parts;
    sum_.nodes -= use.nodes;
    sum_.states -= use.states;
  }

  static constexpr uint64_t kMaxWork = 6'000'000;
  static constexpr uint64_t kMaxParts = 150'000;
  static constexpr uint64_t kMaxNodes = 300'000;
  static constexpr uint64_t kMaxStates = 100'000;
  static constexpr uint64_t kMaxTableBytes = uint64_t{4} << 20;  ///< no table beyond this size
  static constexpr uint32_t kMaxDepth = 200;

  /// What is being compiled, for messages: "line 3", "/properties/a".
  void set_place(std::string place) {
    place_ = std::move(place);
    find_place_ = nullptr;
  }
  /// The same for a place that is looked for only when a message needs it.
  void set_place(std::function<std::string()> find) { find_place_ = std::move(find); }

  /// For functions that call themselves: deeper than kMaxDepth, or than the thread's stack allows.
  [[nodiscard]] bool is_too_deep(size_t depth, size_t limit = kMaxDepth) const {
    return depth > limit || stack_.is_used_up();
  }

  /// Counts elementary steps.
  void spend(uint64_t work) {
    if (count(&BudgetUse::work, work) > kMaxWork) refuse("too much work to compile");
    if (sum_.work > kMaxWork * kMaxUnits) refuse("too much work to compile, all together");
  }
  /// Spends work that grows with all units together.
  void spend_on_all(uint64_t work) { spend(work / num_units()); }
  /// Of the tree of a pattern: characters, sets, groups.
  void add_parts(uint64_t parts) {
    if (count(&BudgetUse::parts, parts) > kMaxParts) refuse("more than {} parts", kMaxParts);
  }
  void add_nodes(uint64_t nodes) {
    if (count(&BudgetUse::nodes, nodes) > kMaxNodes) {
      refuse("larger than {} nodes when written out", kMaxNodes);
    }
    if (sum_.nodes > kMaxNodes * kMaxUnits) refuse("all together larger than the limit of nodes");
  }
  void add_states(uint64_t states) {
    if (count(&BudgetUse::states, states) > kMaxStates) {
      refuse("more than {} states", kMaxStates);
    }
    if (sum_.states > kMaxStates * kMaxUnits) refuse("all together more than the limit of states");
  }
  /// Counts states of the finished automaton, which shared rules have once.
  void hold_states(uint64_t states) {
    held_states_ += states;
    if (held_states_ > kMaxHeldStates) refuse("all together more than {} states", kMaxHeldStates);
  }
  /// Throws Error(Grammar) with the place in front.
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    const std::string what =
        (names_unit_ ? units_[unit_].name : "") + fmt::format(text, std::forward<Args>(args)...);
    const std::string place = find_place_ ? find_place_() : place_;
    if (place.empty()) throw Error(Code::Grammar, "grammar: " + what);
    throw Error(Code::Grammar, "grammar: " + place + ": " + what);
  }

 private:
  struct UnitUse {
    std::string name = {};
    BudgetUse use = {};
  };
  uint64_t count(uint64_t BudgetUse::*what, uint64_t more) {
    sum_.*what += more;
    return units_[unit_].use.*what += more;
  }

  std::vector<UnitUse> units_{1};
  Unit unit_ = kWhole;
  bool names_unit_ = false;
  BudgetUse sum_;
  uint64_t held_states_ = 0;
  std::set<std::string> paid_;
  StackRoom stack_;
  std::string place_;
  std::function<std::string()> find_place_;
};

}  // namespace tenon::grammar
