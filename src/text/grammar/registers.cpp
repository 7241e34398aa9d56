// The registers of a machine: what each action does, and what is still missing.
#include <algorithm>
#include <bit>

#include "text/grammar/machine.h"

namespace tenon::grammar {
namespace {

bool has(std::span<const uint32_t> set, uint32_t property) {
  return (set[1 + property / 32] >> (property % 32) & 1) != 0;
}

/// Calls visit(property) for each property that must still come, once.
template <typename Visit>
void for_each_missing(const ObjectSpec& object, std::span<const uint32_t> set, Visit visit) {
  for (uint32_t p = 0; p < object.properties.size(); ++p) {
    if (has(set, p)) continue;
    bool wanted = object.properties[p].required;
    for (uint32_t q = 0; !wanted && q < object.properties.size(); ++q) {
      const auto& needs = object.properties[q].needs;
      if (!needs.empty() && has(set, q)) {
        wanted = std::find(needs.begin(), needs.end(), p) != needs.end();
      }
    }
    if (wanted) visit(p);
  }
}

}  // namespace

uint32_t Machine::initial_register(const Automaton::RuleInfo& rule) {
  if (rule.object == kNoObject) return 0;
  const ObjectSpec& object = automaton_->object(rule.object);
  const size_t bits = object.properties.size() + object.name_kinds;
  set_words_.assign(1 + (bits + 31) / 32, 0);
  return sets_.id_of(set_words_);
}

bool Machine::apply(const Action& action, uint32_t reg, uint32_t& result) {
  result = reg;
  switch (action.kind) {
    case ActionKind::CountUp:
      if (reg >= action.limit) return false;
      result = std::min(reg + 1, action.keep);
      return true;
    case ActionKind::AtLeast:
      return reg >= action.limit;
    case ActionKind::Take:
      return take(action, reg, result);
    case ActionKind::Close:
      return is_complete(automaton_->object(action.object), reg);
  }
  return false;
}

/// How many of the properties are surely different.
uint32_t Machine::num_different(const ObjectSpec& object, std::span<const uint32_t> set) const {
  if (object.name_kinds == 0 || names_differ_) return set[0];
  uint32_t count = 0;
  for (const uint32_t word : set.subspan(1)) count += static_cast<uint32_t>(std::popcount(word));
  return count;
}

bool Machine::take(const Action& action, uint32_t reg, uint32_t& result) {
  const ObjectSpec& object = automaton_->object(action.object);
  const auto before = sets_.words(reg);
  set_words_.assign(before.begin(), before.end());
  if (action.property != kOther) {
    if (has(set_words_, action.property)) return false;
    set_words_[1 + action.property / 32] |= 1u << (action.property % 32);
  } else if (num_different(object, set_words_) < object.minimum && object.name_kinds > 0) {
    const size_t bit = object.properties.size() + action.name_kind;
    set_words_[1 + bit / 32] |= 1u << (bit % 32);
  }
  if (object.counts()) {
    // Beyond the minimum only the maximum needs a number.
    if (object.maximum != kUnlimited || set_words_[0] < object.minimum) ++set_words_[0];
    if (object.maximum != kUnlimited) {
      uint64_t missing = 0;
      for_each_missing(object, set_words_, [&missing](uint32_t) { ++missing; });
      const uint64_t different = num_different(object, set_words_) + missing;
      if (different < object.minimum) missing += object.minimum - different;
      if (set_words_[0] + missing > object.maximum) return false;
    }
  }
  // A property that is not counted is there all the same: the next one needs a comma.
  if (action.property == kOther) set_words_[0] = std::max(set_words_[0], 1u);
  result = sets_.id_of(set_words_);
  return true;
}

bool Machine::is_complete(const ObjectSpec& object, uint32_t reg) const {
  const auto set = sets_.words(reg);
  if (num_different(object, set) < object.minimum) return false;
  bool complete = true;
  for_each_missing(object, set, [&complete](uint32_t) { complete = false; });
  return complete;
}

uint32_t Machine::owed(const Automaton::RuleInfo& rule, uint32_t reg) const {
  uint64_t sum = 0;
  if (rule.object != kNoObject) {
    const ObjectSpec& object = automaton_->object(rule.object);
    const auto set = sets_.words(reg);
    uint64_t count = num_different(object, set);
    for_each_missing(object, set, [&](uint32_t property) {
      sum += object.properties[property].cost_bytes;
      ++count;
    });
    if (count < object.minimum) {
      sum += object.cheapest_bytes(object.minimum - count, [&](uint32_t property) {
        return !has(set, property) && !object.properties[property].required;
      });
    }
    // Each has a comma in its cost, which the first does not need.
    const bool first = std::all_of(set.begin(), set.end(), [](uint32_t word) { return word == 0; });
    if (first && sum > 0) --sum;
  } else if (rule.counts && reg < rule.at_least) {
    sum = uint64_t{rule.at_least - reg} * rule.unit_bytes;
  }
  return static_cast<uint32_t>(std::min<uint64_t>(sum, kFar));
}

}  // namespace tenon::grammar
