// Automaton: distance of each state to the nearest complete text, which lets a generation end in
// time. Runs Dijkstra within each rule, and again after a called rule has become shorter (compare
// Knuth 1977, "A generalization of Dijkstra's algorithm").
#include <algorithm>
#include <deque>
#include <functional>
#include <queue>

#include "text/grammar/automaton.h"
#include "text/grammar/interner.h"

namespace tenon::grammar {
namespace {

/// Budget steps per measured rule, besides its states and edges.
constexpr uint64_t kRuleWork = 4;

bool counts_or_takes(const Action& action) {
  return action.kind == ActionKind::CountUp || action.kind == ActionKind::Take;
}
/// True if the action may refuse on the shortest path.
bool may_refuse(const Action& action) {
  return counts_or_takes(action) || action.kind == ActionKind::Within;
}

uint32_t mul_far(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(std::min<uint64_t>(uint64_t{a} * b, kFar));
}

}  // namespace

/// Dijkstra, backwards from the ends of the rule. A byte costs 1, a call the shortest text of its
/// rule, and an action 0. Actions that count or take are not passed.
void Automaton::measure_rule(uint32_t rule) {
  const std::vector<uint32_t>& states = states_of_[rule];
  const uint32_t first = states.front();
  struct Edge {
    uint32_t from, weight;
  };
  std::vector<std::vector<Edge>> back(states.size());
  using Entry = std::pair<uint32_t, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (const uint32_t s : states) {
    base_[s] = kFar;
    for (const ByteRange& range : ranges(s)) back[range.to - first].push_back({s, 1});
    for (const Special& special : specials(s)) {
      const bool call = special.kind == EdgeKind::Call;
      if (!call && (counts_or_takes(actions_[special.data]) ||
                    actions_[special.data].kind == ActionKind::Check)) {
        continue;
      }
      const uint32_t weight = call ? rules_[special.data].shortest : 0;
      if (weight < kFar) back[special.to - first].push_back({s, weight});
    }
    if (is_final(s)) {
      base_[s] = 0;
      queue.emplace(0, s);
    }
  }
  while (!queue.empty()) {
    const auto [distance, s] = queue.top();
    queue.pop();
    if (distance != base_[s]) continue;
    for (const Edge& edge : back[s - first]) {
      const uint32_t through = add_far(distance, edge.weight);
      if (through >= base_[edge.from]) continue;
      base_[edge.from] = through;
      queue.emplace(through, edge.from);
    }
  }
}

void Automaton::measure(Budget& budget) {
  base_.assign(num_states(), kFar);
  for (RuleInfo& rule : rules_) rule.shortest = kFar;
  std::vector<std::vector<uint32_t>> callers(rules_.size());
  std::vector<uint64_t> work(rules_.size());
  for (uint32_t s = 1; s < num_states(); ++s) {
    const uint32_t caller = rule_of_[s];
    budget.pass(1);
    work[caller] += 1 + (ranges(s).size() + specials(s).size()) / 2;
    for (const Special& special : specials(s)) {
      if (special.kind != EdgeKind::Call) continue;
      std::vector<uint32_t>& known = callers[special.data];
      if (known.empty() || known.back() != caller) known.push_back(caller);
    }
  }
  // Distances only fall. Measure a rule again when a rule that it calls has become shorter. Begin
  // with the last rule, since most calls go to rules discovered later.
  std::deque<uint32_t> todo;
  std::vector<bool> is_waiting(rules_.size(), true);
  for (auto r = static_cast<uint32_t>(rules_.size()); r-- > 0;) todo.push_back(r);
  for (; !todo.empty(); todo.pop_front()) {
    const uint32_t r = todo.front();
    is_waiting[r] = false;
    if (budget.num_units() > 1) budget.enter(units_[r]);
    budget.spend(kRuleWork + work[r]);
    measure_rule(r);
    RuleInfo& rule = rules_[r];
    rule.unit_bytes = rule.at_least = 0;
    if (rule.object != kNoObject) {
      for (auto& property : objects_[rule.object].properties) property.cost_bytes = 0;
    }
    for (const uint32_t s : states_of_[r]) {
      for (const Special& special : specials(s)) {
        if (special.kind != EdgeKind::Act) continue;
        const Action& action = actions_[special.data];
        if (action.kind == ActionKind::CountUp) {
          rule.unit_bytes = std::max(rule.unit_bytes, base_[special.to]);
        } else if (action.kind == ActionKind::AtLeast) {
          rule.at_least = std::max(rule.at_least, action.limit);
        } else if (action.kind == ActionKind::Take && action.property == kOther) {
          // Any name is allowed: allow for more bytes than the required names take.
          objects_[rule.object].other_bytes = add_far(64, base_[special.to]);
        } else if (action.kind == ActionKind::Take) {
          auto& property = objects_[rule.object].properties[action.property];
          property.cost_bytes = add_far(property.key_bytes, base_[special.to]);
        }
      }
    }
    const uint32_t shortest = shortest_of(rule);
    if (shortest >= rule.shortest) continue;
    rule.shortest = shortest;
    for (const uint32_t caller : callers[r]) {
      if (!is_waiting[caller]) todo.push_back(caller);
      is_waiting[caller] = true;
    }
  }
  budget.enter(Budget::kWhole);
}

/// Shortest text from the start, including all that the register requires.
uint32_t Automaton::shortest_of(const RuleInfo& rule) const {
  uint32_t sum = base_[rule.start];
  if (rule.object != kNoObject) {
    const ObjectSpec& object = objects_[rule.object];
    uint32_t required = 0;
    const uint32_t empty = sum;
    for (const auto& property : object.properties) {
      if (!property.required) continue;
      ++required;
      sum = add_far(sum, property.cost_bytes);
    }
    if (object.minimum > required) {
      const uint64_t more = object.cheapest_bytes(
          object.minimum - required,
          [&](uint32_t property) { return !object.properties[property].required; });
      sum = add_far(sum, static_cast<uint32_t>(std::min<uint64_t>(more, kFar)));
    }
    if (sum > empty && sum < kFar) --sum;  // the first property needs no comma
  }
  return add_far(sum, mul_far(rule.at_least, rule.unit_bytes));
}

/// States of a rule that reach its end without an action that may refuse; empty for a rule without
/// a Within.
std::vector<bool> Automaton::ends_freely(uint32_t rule) const {
  const std::vector<uint32_t>& states = states_of_[rule];
  const auto is_within = [&](const Special& special) {
    return special.kind != EdgeKind::Call && actions_[special.data].kind == ActionKind::Within;
  };
  const bool none = std::none_of(states.begin(), states.end(), [&](uint32_t s) {
    const auto own = specials(s);
    return std::any_of(own.begin(), own.end(), is_within);
  });
  if (none) return {};
  std::vector<std::vector<uint32_t>> back(states.size());
  std::vector<bool> free(states.size(), false);
  std::vector<uint32_t> todo;
  const uint32_t first = states.front();
  for (const uint32_t s : states) {
    for (const ByteRange& range : ranges(s)) back[range.to - first].push_back(s - first);
    for (const Special& special : specials(s)) {
      if (special.kind == EdgeKind::Call || may_refuse(actions_[special.data])) continue;
      back[special.to - first].push_back(s - first);
    }
    if (!is_final(s)) continue;
    free[s - first] = true;
    todo.push_back(s - first);
  }
  while (!todo.empty()) {
    const uint32_t s = todo.back();
    todo.pop_back();
    for (const uint32_t from : back[s]) {
      if (free[from]) continue;
      free[from] = true;
      todo.push_back(from);
    }
  }
  return free;
}

/// Propagates the next possible actions forwards, from the states that cannot end without an
/// action.
void Automaton::find_ahead(Budget& budget) {
  ahead_.clear();
  ahead_begin_ = {0, 0};
  guard_.assign(num_states(), 0);
  Interner guards;
  std::vector<uint32_t> guard;
  std::vector<uint32_t> distance(num_states(), kFar), touched;
  using Entry = std::pair<uint32_t, uint32_t>;
  std::vector<bool> free;
  for (uint32_t s = 1; s < num_states(); ++s) {
    const RuleInfo& rule = rules_[rule_of_[s]];
    budget.pass(1);
    const bool plain = rule.object == kNoObject && !rule.counts;
    const uint32_t first_state = states_of_[rule_of_[s]].front();
    if (s == first_state && budget.num_units() > 1) budget.enter(units_[rule_of_[s]]);
    if (s == first_state) free = plain ? std::vector<bool>() : ends_freely(rule_of_[s]);
    const bool held = base_[s] == kFar || (!free.empty() && !free[s - first_state]);
    if (!plain && held && (has_bytes(s) || !specials(s).empty())) {
      std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
      const auto reach = [&](uint32_t to, uint32_t at) {
        if (at >= distance[to]) return;
        distance[to] = at;
        touched.push_back(to);
        queue.emplace(at, to);
      };
      reach(s, 0);
      while (!queue.empty()) {
        const auto [at, state] = queue.top();
        queue.pop();
        if (at != distance[state]) continue;
        budget.spend(1 + ranges(state).size() / 8);
        for (const ByteRange& range : ranges(state)) reach(range.to, at + 1);
        for (const Special& special : specials(state)) {
          const bool call = special.kind == EdgeKind::Call;
          if (call && rules_[special.data].shortest == kFar) continue;
          if (call) {
            reach(special.to, add_far(at, rules_[special.data].shortest));
          } else if (may_refuse(actions_[special.data])) {
            const bool known =
                std::any_of(ahead_.begin() + ahead_begin_.back(), ahead_.end(),
                            [&](const Ahead& other) { return other.action == special.data; });
            if (!known) ahead_.push_back({special.data, at, base_[special.to]});
          } else if (actions_[special.data].kind != ActionKind::Check) {
            reach(special.to, at);
          }
        }
      }
      for (const uint32_t state : touched) distance[state] = kFar;
      touched.clear();
      const auto always = [&](const Ahead& next) {
        const Action& action = actions_[next.action];
        if (action.kind == ActionKind::Within) return false;
        if (action.kind == ActionKind::CountUp) return action.limit == kUnlimited;
        return action.property == kOther && objects_[action.object].always_open();
      };
      const auto first = ahead_.begin() + ahead_begin_.back();
      if (std::none_of(first, ahead_.end(), always)) {
        guard.clear();
        for (auto next = first; next != ahead_.end(); ++next) guard.push_back(next->action);
        std::sort(guard.begin(), guard.end());
        guard_[s] = guards.intern(guard) + 1;
      }
    }
    ahead_begin_.push_back(static_cast<uint32_t>(ahead_.size()));
  }
  budget.enter(Budget::kWhole);
}

}  // namespace tenon::grammar
