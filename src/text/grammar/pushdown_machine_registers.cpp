// PushdownMachine: registers, the actions on them, and their open requirements.
#include <algorithm>
#include <bit>

#include "text/grammar/pushdown_machine.h"

namespace tenon::grammar {
namespace {

constexpr uint64_t kTakeWork = 6;  // units of WalkBudget

bool has(std::span<const uint32_t> set, uint32_t property) {
  return (set[1 + property / 32] >> (property % 32) & 1) != 0;
}

/// Number after the last property in a set; 0 for an empty set.
uint32_t after_last(const ObjectSpec& object, std::span<const uint32_t> set) {
  for (auto p = static_cast<uint32_t>(object.properties.size()); p > 0; --p) {
    if (has(set, p - 1)) return p;
  }
  return 0;
}

}  // namespace

/// Calls visit(property) once for each property that must still come.
template <typename Visit>
void PushdownMachine::for_each_missing(const ObjectSpec& object, std::span<const uint32_t> set,
                                       Visit visit) {
  const auto count = static_cast<uint32_t>(object.properties.size());
  uint64_t num_needs = 0;
  wanted_.assign(set.size(), 0);
  for (uint32_t p = 0; p < count; ++p) {
    const ObjectSpec::Property& property = object.properties[p];
    if (property.required) wanted_[1 + p / 32] |= 1u << (p % 32);
    if (property.needs.empty() || !has(set, p)) continue;
    num_needs += property.needs.size();
    for (const uint32_t needed : property.needs) wanted_[1 + needed / 32] |= 1u << (needed % 32);
  }
  spend(count / 4 + num_needs);
  for (uint32_t p = 0; p < count; ++p) {
    if (has(wanted_, p) && !has(set, p)) visit(p);
  }
}

uint32_t PushdownMachine::initial_register(const Automaton::RuleInfo& rule) {
  if (rule.object == kNoObject) return 0;
  const ObjectSpec& object = automaton_->object(rule.object);
  const size_t bits = object.properties.size() + object.name_kinds;
  set_words_.assign(1 + (bits + 31) / 32, 0);
  return sets_.intern(set_words_);
}

bool PushdownMachine::apply(const Action& action, uint32_t reg, uint32_t& result) {
  result = reg;
  switch (action.kind) {
    case ActionKind::CountUp:
      if (reg >= action.limit) return false;
      result = std::min(reg + 1, action.keep);
      return true;
    case ActionKind::AtLeast:
      return reg >= action.limit;
    case ActionKind::Within:
      if (action.soft && purpose_ != Purpose::Generate) return true;
      if (reg >= action.limit) return false;
      result = reg + 1;
      return true;
    case ActionKind::Check:
      return purpose_ != Purpose::Generate;
    case ActionKind::Take:
      return take(action, reg, result);
    case ActionKind::Close:
      return is_complete(automaton_->object(action.object), reg);
  }
  return false;
}

/// Number of properties that are certainly different.
uint32_t PushdownMachine::num_different(const ObjectSpec& object,
                                        std::span<const uint32_t> set) const {
  if (object.name_kinds == 0 || purpose_ == Purpose::CheckDistinct) return set[0];
  uint32_t count = 0;
  for (const uint32_t word : set.subspan(1)) count += static_cast<uint32_t>(std::popcount(word));
  return count;
}

/// Finds the properties that may still come in order: after the last, with their dependencies
/// present or still possible.
void PushdownMachine::find_takeable(const ObjectSpec& object, std::span<const uint32_t> set) {
  const auto count = static_cast<uint32_t>(object.properties.size());
  takeable_.assign(set.size(), 0);
  bool needs = false;
  for (uint32_t p = after_last(object, set); p < count; ++p) {
    takeable_[1 + p / 32] |= 1u << (p % 32);
    needs = needs || !object.properties[p].needs.empty();
  }
  spend(count / 4);
  for (bool shrinks = needs; shrinks;) {
    shrinks = false;
    for (uint32_t p = 0; p < count; ++p) {
      if (!has(takeable_, p)) continue;
      const std::vector<uint32_t>& of = object.properties[p].needs;
      spend(of.size());
      const bool met = std::all_of(of.begin(), of.end(), [&](uint32_t other) {
        return has(set, other) || has(takeable_, other);
      });
      if (met) continue;
      takeable_[1 + p / 32] &= ~(1u << (p % 32));
      shrinks = true;
    }
  }
}

/// True if the missing properties can still come in order.
bool PushdownMachine::can_be_completed(const ObjectSpec& object, std::span<const uint32_t> set) {
  find_takeable(object, set);
  bool can = true;
  for_each_missing(object, set, [&](uint32_t property) { can = can && has(takeable_, property); });
  if (!can || object.minimum == 0 || object.others) return can;
  uint64_t count = num_different(object, set);
  for (uint32_t p = 0; p < object.properties.size(); ++p) count += has(takeable_, p) ? 1 : 0;
  return count >= object.minimum;
}

bool PushdownMachine::take(const Action& action, uint32_t reg, uint32_t& result) {
  const ObjectSpec& object = automaton_->object(action.object);
  const auto before = sets_.words(reg);
  spend(kTakeWork + before.size());
  set_words_.assign(before.begin(), before.end());
  const bool in_order = keeps_order(object);
  if (action.property != kOther) {
    if (has(set_words_, action.property)) return false;
    if (in_order && action.property < after_last(object, set_words_)) return false;
    set_words_[1 + action.property / 32] |= 1u << (action.property % 32);
  } else if (num_different(object, set_words_) < object.minimum && object.name_kinds > 0) {
    const size_t bit = object.properties.size() + action.name_kind;
    set_words_[1 + bit / 32] |= 1u << (bit % 32);
  }
  if (object.counts()) {
    // Count beyond the minimum only if a maximum needs it.
    if (object.maximum != kUnlimited || set_words_[0] < object.minimum) ++set_words_[0];
    if (object.maximum != kUnlimited) {
      uint64_t missing = 0;
      for_each_missing(object, set_words_, [&missing](uint32_t) { ++missing; });
      const uint64_t different = num_different(object, set_words_) + missing;
      if (different < object.minimum) missing += object.minimum - different;
      if (set_words_[0] + missing > object.maximum) return false;
    }
  }
  if (in_order && action.property != kOther && !can_be_completed(object, set_words_)) return false;
  // Record an uncounted property as present, since the next property needs a comma.
  if (action.property == kOther) set_words_[0] = std::max(set_words_[0], 1u);
  result = sets_.intern(set_words_);
  return true;
}

bool PushdownMachine::is_complete(const ObjectSpec& object, uint32_t reg) {
  const auto set = sets_.words(reg);
  if (num_different(object, set) < object.minimum) return false;
  bool complete = true;
  for_each_missing(object, set, [&complete](uint32_t) { complete = false; });
  return complete;
}

uint32_t PushdownMachine::owed(const Automaton::RuleInfo& rule, uint32_t reg) {
  if (rule.object != kNoObject) return owed_by_object(rule.object, reg);
  if (!rule.counts || reg >= rule.at_least) return 0;
  const uint64_t sum = uint64_t{rule.at_least - reg} * rule.unit_bytes;
  return static_cast<uint32_t>(std::min<uint64_t>(sum, kFar));
}

uint32_t PushdownMachine::owed_by_object(uint32_t index, uint32_t reg) {
  if (owed_.size() <= reg) owed_.resize(sets_.size());
  if (owed_[reg].object == index) return owed_[reg].bytes;
  const ObjectSpec& object = automaton_->object(index);
  const auto set = sets_.words(reg);
  uint64_t sum = 0, count = num_different(object, set);
  for_each_missing(object, set, [&](uint32_t property) {
    sum += object.properties[property].cost_bytes;
    ++count;
  });
  if (count < object.minimum) {
    spend(4 * object.properties.size());
    const bool in_order = keeps_order(object);
    if (in_order) find_takeable(object, set);
    sum += object.cheapest_bytes(object.minimum - count, [&](uint32_t property) {
      return !has(set, property) && !object.properties[property].required &&
             (!in_order || has(takeable_, property));
    });
  }
  // Each cost includes a comma, which the first property does not need.
  const bool first = std::all_of(set.begin(), set.end(), [](uint32_t word) { return word == 0; });
  if (first && sum > 0) --sum;
  owed_[reg] = {index, static_cast<uint32_t>(std::min<uint64_t>(sum, kFar))};
  return owed_[reg].bytes;
}

}  // namespace tenon::grammar
