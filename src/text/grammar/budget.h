// Limits on compiling a grammar: counts work, nodes and bytes, so that every machine refuses the
// same input. Run-time limits live in walk_budget.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "base/stack_room.h"
#include "text/grammar/work_watch.h"

namespace tenon::grammar {

struct JsonValue;

/// Refusal of a notation, with the data that a lenient reader needs to drop the refused part.
class Refusal : public Error {
 public:
  ///   where  for the message; empty: it names no place
  Refusal(const std::string& where, std::string why, const JsonValue* at, bool limit)
      : Error(Code::Grammar, "grammar: " + (where.empty() ? why : where + ": " + why)),
        reason(std::move(why)),
        place(at),
        is_limit(limit) {}

  std::string reason;                 ///< the message without its place
  const JsonValue* place;             ///< part of a schema that the message does not name, or null
  std::string keyword = {};           ///< of `place`, which is to be left out; empty: none is known
  bool is_limit;                      ///< the budget is used up: nothing more can be compiled
  const JsonValue* reader = nullptr;  ///< innermost schema that was read; null: none was
  std::string read_keyword = {};      ///< keyword of `reader` that was read
};

/// Resources used by a part of a compilation.
struct BudgetUse {
  uint64_t work = 0;
  uint64_t parts = 0;
  uint64_t nodes = 0;
  uint64_t states = 0;
};

/// Budget of one compilation. The limits keep hostile grammars within 250 ms and 64 MB
/// (grammar_limits_test); kMaxHeldBytes limits the memory of all units together.
///
/// Compiling independent parts, such as a conversation's tools, uses a unit for each. The limits
/// apply per unit; all units together may do kMaxUnitsOfWork times the work of one. Work shared by
/// several units counts for each of them, and once for all together.
class Budget {
 public:
  using Unit = uint32_t;
  static constexpr Unit kWhole = 0;  ///< unit of everything outside other units
  static constexpr uint64_t kMaxUnits = 256;
  static constexpr uint64_t kMaxUnitsOfWork = 16;
  /// Work on a result that is cached for other grammars, without the cached results that it uses
  /// itself.
  struct Payment {
    Hash128 key;
    uint64_t work;
    auto operator<=>(const Payment&) const = default;
  };
  static constexpr uint64_t kMaxHeldBytes = uint64_t{256} << 20;  ///< limit on the NFA
  /// Limit on the automaton, all units together.
  static constexpr uint64_t kMaxHeldStates = 1'600'000;

  /// watch: may be null; outlives the budget.
  explicit Budget(WorkWatch* watch = nullptr) : watch_(watch) {}

  /// Begins a unit, to which all following work belongs. name: for messages of later stages.
  Unit begin_unit(std::string name) {
    units_.push_back({.name = std::move(name)});
    return unit_ = static_cast<Unit>(units_.size() - 1);
  }
  /// Budget for compiling a part on its own; charge its use afterwards.
  [[nodiscard]] Budget for_part() const {
    Budget part(watch_);
    part.together_ = together_;
    part.place_ = place_;
    part.find_place_ = find_place_;
    part.place_value_ = place_value_;
    return part;
  }
  /// Returns to an earlier unit.
  void enter(Unit unit) {
    unit_ = unit;
    names_unit_ = unit != kWhole;
  }
  [[nodiscard]] Unit unit() const { return unit_; }
  /// Number of units including the whole, at most kMaxUnits.
  [[nodiscard]] uint64_t num_units() const { return std::min<uint64_t>(units_.size(), kMaxUnits); }
  [[nodiscard]] const BudgetUse& used() const { return units_[unit_].use; }
  /// Charges a cached result with its original cost.
  void charge(const BudgetUse& use) {
    add_parts(use.parts);
    add_nodes(use.nodes);
    add_states(use.states);
    pass(use.work);
    count_work(use.work);
  }
  /// Work of all units and of the budgets of their parts; what is kept counts once.
  [[nodiscard]] uint64_t work_together() const { return together_->work; }
  /// Work of this budget that belongs to no payment.
  [[nodiscard]] uint64_t own_work() const { return own_work_; }
  /// Counts a cached result for all units together, unless a unit has already paid for it.
  void pay(const Payment& payment) {
    payments_.push_back(payment);
    if (together_->paid.insert(payment.key).second) add_together(payment.work);
  }
  /// Turns the work since own_work() was `before` into a payment, and returns it.
  Payment pay_for_own(const Hash128& key, uint64_t before) {
    const Payment payment{key, std::exchange(own_work_, before) - before};
    payments_.push_back(payment);
    // The result was made again because the cache had dropped it.
    if (!together_->paid.insert(key).second) together_->work -= payment.work;
    return payment;
  }
  /// All payments without duplicates.
  [[nodiscard]] std::vector<Payment> take_payments() {
    std::sort(payments_.begin(), payments_.end());
    payments_.erase(std::unique(payments_.begin(), payments_.end()), payments_.end());
    return std::move(payments_);
  }

  static constexpr uint64_t kMaxWork = 6'000'000;
  static constexpr uint64_t kMaxParts = 150'000;
  static constexpr uint64_t kMaxNodes = 300'000;
  static constexpr uint64_t kMaxStates = 100'000;
  static constexpr uint64_t kMaxTableBytes = uint64_t{4} << 20;  ///< limit on each table
  static constexpr uint32_t kMaxDepth = 200;

  /// Sets the position for messages: "line 3", "/properties/a".
  void set_place(std::string place) {
    place_ = std::move(place);
    find_place_ = nullptr;
    place_value_ = nullptr;
  }
  /// Sets a position that is looked up only when a message needs it.
  void set_place(std::function<std::string()> find) {
    find_place_ = std::move(find);
    place_value_ = nullptr;
  }
  /// Sets a position within a schema, which a Refusal names by Refusal::place alone.
  void set_place(const JsonValue& value) {
    place_.clear();
    find_place_ = nullptr;
    place_value_ = &value;
  }

  /// Guards recursive functions: true beyond kMaxDepth, or if the thread's stack is nearly used up.
  [[nodiscard]] bool is_too_deep(size_t depth, size_t limit = kMaxDepth) const {
    return depth > limit || stack_.is_used_up();
  }

  /// Counts elementary steps.
  void spend(uint64_t work) {
    pass(work);
    count_work(work);
    own_work_ += work;
    add_together(work);
  }
  /// Spends work that grows with all units together. Loops over it pass() their steps.
  void spend_on_all(uint64_t work) { spend(work / num_units()); }
  /// Reports steps counted elsewhere to the watch. Throws what the watch throws.
  void pass(uint64_t work) {
    since_look_ += work;
    if (since_look_ >= kBetweenLooks) look();
  }
  /// Counts memory of the NFA before it grows. Throws Error(Limit).
  void hold_bytes(uint64_t bytes) {
    held_bytes_ += bytes;
    if (held_bytes_ <= kMaxHeldBytes) return;
    fail(Code::Limit, "grammar: larger than {} MiB when written out", kMaxHeldBytes >> 20);
  }
  /// Counts parts of a pattern's tree: characters, sets, groups.
  void add_parts(uint64_t parts) {
    pass(parts);
    if (count(&BudgetUse::parts, parts) > kMaxParts) refuse_limit("more than {} parts", kMaxParts);
  }
  void add_nodes(uint64_t nodes) {
    pass(nodes);
    if (count(&BudgetUse::nodes, nodes) > kMaxNodes) {
      refuse_limit("larger than {} nodes when written out", kMaxNodes);
    }
  }
  void add_states(uint64_t states) {
    pass(states);
    if (count(&BudgetUse::states, states) > kMaxStates) {
      refuse_limit("more than {} states", kMaxStates);
    }
  }
  /// Counts states of the finished automaton; shared rules count once.
  void hold_states(uint64_t states) {
    pass(states);
    held_states_ += states;
    if (held_states_ > kMaxHeldStates) {
      refuse_limit("all together more than {} states", kMaxHeldStates);
    }
  }
  /// Throws Refusal, an Error(Grammar), prefixed with the place.
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    throw refusal(fmt::format(text, std::forward<Args>(args)...), false);
  }
  /// Refuses a keyword of the schema at the place.
  template <typename... Args>
  [[noreturn]] void refuse_keyword(std::string_view keyword, fmt::format_string<Args...> text,
                                   Args&&... args) const {
    Refusal refused = refusal(fmt::format(text, std::forward<Args>(args)...), false);
    refused.keyword = keyword;
    throw Refusal(std::move(refused));
  }

 private:
  static constexpr uint64_t kBetweenLooks = 20'000;  ///< about a millisecond

  template <typename... Args>
  [[noreturn]] void refuse_limit(fmt::format_string<Args...> text, Args&&... args) const {
    throw refusal(fmt::format(text, std::forward<Args>(args)...), true);
  }
  [[nodiscard]] Refusal refusal(const std::string& reason, bool is_limit) const {
    const std::string what = (names_unit_ ? units_[unit_].name : "") + reason;
    return {find_place_ ? find_place_() : place_, what, place_value_, is_limit};
  }
  void look() {
    since_look_ = 0;
    if (watch_ != nullptr) watch_->look();
  }
  struct UnitUse {
    std::string name = {};
    BudgetUse use = {};
  };
  /// Shared by all units, and by the budgets of their parts.
  struct Together {
    uint64_t work = 0;
    std::set<Hash128> paid;
  };
  uint64_t count(uint64_t BudgetUse::*what, uint64_t more) {
    return units_[unit_].use.*what += more;
  }
  void count_work(uint64_t work) {
    if (count(&BudgetUse::work, work) > kMaxWork) refuse_limit("too much work to compile");
  }
  void add_together(uint64_t work) {
    together_->work += work;
    if (together_->work <= kMaxWork * kMaxUnitsOfWork) return;
    fail(Code::Limit, "grammar: all tools together take more than {} times the work of one",
         kMaxUnitsOfWork);
  }

  std::vector<UnitUse> units_{1};
  Unit unit_ = kWhole;
  bool names_unit_ = false;
  std::shared_ptr<Together> together_ = std::make_shared<Together>();
  uint64_t own_work_ = 0;
  std::vector<Payment> payments_;
  WorkWatch* watch_;
  uint64_t since_look_ = 0;
  uint64_t held_states_ = 0;
  uint64_t held_bytes_ = 0;
  StackRoom stack_;
  std::string place_;
  const JsonValue* place_value_ = nullptr;
  std::function<std::string()> find_place_;
};

}  // namespace tenon::grammar
