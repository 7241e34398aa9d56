#include "text/grammar/automaton.h"

#include <algorithm>
#include <utility>

#include "text/grammar/compiled_part.h"
#include "text/grammar/interner.h"

namespace tenon::grammar {
namespace {

/// Converts a call or an action of a linked rule to the NFA's numbering.
Special in_nfa(Special special, const NfaRule& rule) {
  const LinkedPart& linked = *rule.linked;
  const auto num_rules = static_cast<uint32_t>(linked.part->rules.size());
  if (special.kind != EdgeKind::Call) {
    special.data += rule.first_action;
  } else if (special.data < num_rules) {
    special.data += linked.first_rule;
  } else {
    special.data = linked.imports[special.data - num_rules];
  }
  return special;
}

}  // namespace

Automaton::Automaton(const Nfa& nfa) : actions_(nfa.actions()), objects_(nfa.objects) {
  add_rules(nfa);
  refuse_left_recursion(nfa);
  finish(nfa.budget());
}

void Automaton::add_rules(const Nfa& nfa) {
  // Renumber the rules in the order of discovery.
  std::vector<uint32_t> number(nfa.rules().size(), kDead), order;
  const auto number_of = [&](uint32_t rule) {
    if (number[rule] == kDead) {
      number[rule] = static_cast<uint32_t>(order.size());
      order.push_back(rule);
    }
    return number[rule];
  };
  (void)number_of(0);
  range_begin_ = special_begin_ = {0, 0};
  flags_ = {0};
  rule_of_ = {0};
  for (size_t r = 0; r < order.size(); ++r) {
    const NfaRule& rule = nfa.rules()[order[r]];
    nfa.budget().enter(rule.unit);
    const auto first = static_cast<uint32_t>(rule_of_.size());
    Subsets own;
    const CompiledRule* const compiled =
        rule.linked != nullptr ? &rule.linked->part->rules[rule.part_rule] : nullptr;
    if (compiled == nullptr) own = make_deterministic(nfa, rule.start, rule.final);
    const Dfa& dfa = compiled != nullptr ? compiled->states : own.dfa;
    nfa.budget().hold_states(dfa.size());
    rules_.push_back({.start = first + dfa.start, .object = rule.object, .counts = rule.counts});
    states_of_.emplace_back();
    places_.push_back(rule.place);
    units_.push_back(rule.unit);
    for (uint32_t s = 0; s < dfa.size(); ++s) {
      for (ByteRange range : dfa.of(s)) {
        range.to += first;
        ranges_.push_back(range);
      }
      const auto add = [&](Special special) {
        special.to += first;
        if (special.kind == EdgeKind::Call) special.data = number_of(special.data);
        specials_.push_back(special);
      };
      if (compiled == nullptr) {
        for (const Special& special : own.specials[s]) add(special);
      } else {
        for (uint32_t i = compiled->special_begin[s]; i < compiled->special_begin[s + 1]; ++i) {
          add(in_nfa(compiled->specials[i], rule));
        }
      }
      range_begin_.push_back(static_cast<uint32_t>(ranges_.size()));
      special_begin_.push_back(static_cast<uint32_t>(specials_.size()));
      flags_.push_back(dfa.label[s] != 0 ? kFinal : 0);
      rule_of_.push_back(static_cast<uint32_t>(r));
      states_of_[r].push_back(first + s);
    }
  }
  nfa.budget().enter(Budget::kWhole);
}

void Automaton::refuse_left_recursion(const Nfa& nfa) const {
  const size_t n = rules_.size();
  nfa.budget().spend_on_all(num_states() + specials_.size());
  // Find the states reachable without a byte of their rule. Calls wait until their rule is known to
  // be nullable.
  std::vector<bool> nullable(n, false), reached(num_states(), false);
  std::vector<std::vector<uint32_t>> waiting(n);  // states after calls of a rule
  std::vector<std::vector<uint32_t>> first(n);    // rules at the beginning of a rule
  std::vector<uint32_t> todo;
  const auto reach = [&](uint32_t s) {
    if (!reached[s]) todo.push_back(s);
    reached[s] = true;
  };
  for (const RuleInfo& rule : rules_) reach(rule.start);
  while (!todo.empty()) {
    const uint32_t s = todo.back();
    todo.pop_back();
    nfa.budget().pass(1);
    const uint32_t r = rule_of_[s];
    if (is_final(s) && !nullable[r]) {
      nullable[r] = true;
      for (const uint32_t after : waiting[r]) reach(after);
    }
    for (const Special& special : specials(s)) {
      if (special.kind != EdgeKind::Call) {
        reach(special.to);
        continue;
      }
      first[r].push_back(special.data);
      if (nullable[special.data]) {
        reach(special.to);
      } else {
        waiting[special.data].push_back(special.to);
      }
    }
  }
  // Depth-first search; marks: 1 on the path, 2 done.
  std::vector<uint8_t> mark(n, 0);
  for (uint32_t root = 0; root < n; ++root) {
    std::vector<std::pair<uint32_t, size_t>> path;
    if (mark[root] == 0) path.emplace_back(root, 0), mark[root] = 1;
    while (!path.empty()) {
      auto& [r, i] = path.back();
      if (i == first[r].size()) {
        mark[r] = 2;
        path.pop_back();
        continue;
      }
      const uint32_t next = first[r][i++];
      if (mark[next] == 1) {
        nfa.budget().set_place(places_[next]);
        nfa.budget().refuse("left recursion: the rule can begin with itself");
      }
      if (mark[next] == 0) path.emplace_back(next, 0), mark[next] = 1;
    }
  }
}

void Automaton::finish(Budget& budget) {
  remove_dead_ends(budget);
  measure(budget);
  find_ahead(budget);
  make_table(budget);
}

void Automaton::remove_dead_ends(Budget& budget) {
  const uint32_t n = num_states();
  // Search backwards from the ends of rules; pass a call once its rule is known to end.
  std::vector<uint32_t> in_begin(n + 1, 0), in;
  const auto for_each_edge = [&](auto visit) {
    for (uint32_t s = 1; s < n; ++s) {
      budget.pass(1);
      for (const ByteRange& range : ranges(s)) visit(s, range.to);
      for (const Special& special : specials(s)) {
        const bool passes =
            special.kind != EdgeKind::Call && actions_[special.data].kind != ActionKind::Check;
        if (passes) visit(s, special.to);
      }
    }
  };
  for_each_edge([&](uint32_t, uint32_t to) { ++in_begin[to]; });
  uint32_t sum = 0;
  for (uint32_t& begin : in_begin) sum += std::exchange(begin, sum);
  in.resize(sum);
  std::vector<uint32_t> fill = in_begin;
  for_each_edge([&](uint32_t from, uint32_t to) { in[fill[to]++] = from; });
  struct Call {
    uint32_t from, to;
  };
  std::vector<std::vector<Call>> calls_of(rules_.size());  // indexed by callee
  std::vector<std::vector<uint32_t>> calls_to(n);    // callers' edges, indexed by return state
  std::vector<std::pair<uint32_t, uint32_t>> calls;  // from, rule
  for (uint32_t s = 1; s < n; ++s) {
    for (const Special& special : specials(s)) {
      if (special.kind != EdgeKind::Call) continue;
      calls_of[special.data].push_back({s, special.to});
      calls_to[special.to].push_back(static_cast<uint32_t>(calls.size()));
      calls.emplace_back(s, special.data);
    }
  }
  budget.spend_on_all(in.size() + calls.size() + n);
  std::vector<bool> alive(n, false), ends(rules_.size(), false);
  std::vector<uint32_t> work;
  const auto mark = [&](uint32_t s) {
    if (alive[s]) return;
    alive[s] = true;
    work.push_back(s);
  };
  for (uint32_t s = 1; s < n; ++s) {
    if (is_final(s)) mark(s);
  }
  while (!work.empty()) {
    const uint32_t s = work.back();
    work.pop_back();
    budget.pass(1);
    for (uint32_t i = in_begin[s]; i < in_begin[s + 1]; ++i) mark(in[i]);
    for (const uint32_t call : calls_to[s]) {
      if (ends[calls[call].second]) mark(calls[call].first);
    }
    const uint32_t rule = rule_of_[s];
    if (s == rules_[rule].start && !ends[rule]) {
      ends[rule] = true;
      for (const Call& call : calls_of[rule]) {
        if (alive[call.to]) mark(call.from);
      }
    }
  }
  if (!ends[0]) budget.refuse("no token can follow: no text is ever complete");
  // Remove edges to dead ends.
  std::vector<ByteRange> kept_ranges;
  std::vector<Special> kept_specials;
  std::vector<uint32_t> new_range_begin{0, 0}, new_special_begin{0, 0};
  for (uint32_t s = 1; s < n; ++s) {
    budget.pass(1);
    for (const ByteRange& range : ranges(s)) {
      if (alive[s] && alive[range.to]) kept_ranges.push_back(range);
    }
    for (const Special& special : specials(s)) {
      const bool dead_call = special.kind == EdgeKind::Call && !ends[special.data];
      if (alive[s] && alive[special.to] && !dead_call) kept_specials.push_back(special);
    }
    new_range_begin.push_back(static_cast<uint32_t>(kept_ranges.size()));
    new_special_begin.push_back(static_cast<uint32_t>(kept_specials.size()));
    flags_[s] = static_cast<uint8_t>((flags_[s] & kFinal) |
                                     (new_range_begin[s] != new_range_begin[s + 1] ? kBytes : 0));
  }
  ranges_ = std::move(kept_ranges);
  specials_ = std::move(kept_specials);
  range_begin_ = std::move(new_range_begin);
  special_begin_ = std::move(new_special_begin);
  for (uint32_t s = 1; s < n; ++s) {
    const bool stops = !has_bytes(s) && specials(s).empty() && is_final(s);
    if (stops) flags_[s] |= kReturns;
  }
}

void Automaton::make_table(Budget& budget) {
  // Merge bytes that lead to the same state from everywhere into one class.
  bool bounds[257] = {};
  for (const ByteRange& range : ranges_) bounds[range.low] = bounds[range.high + 1] = true;
  std::vector<uint8_t> firsts;
  std::array<uint32_t, 256> interval{};
  for (uint32_t b = 0; b < 256; ++b) {
    if (b == 0 || bounds[b]) firsts.push_back(static_cast<uint8_t>(b));
    interval[b] = static_cast<uint32_t>(firsts.size() - 1);
  }
  const uint32_t n = num_states();
  const auto width = static_cast<uint32_t>(firsts.size());
  budget.spend_on_all(uint64_t{n} * width / 16);
  // States differ only in the shape of their ranges, and few shapes exist.
  std::vector<uint32_t> kind(width, 0);  // [intervals] equal so far means same kind
  uint32_t num_kinds = 1;
  Interner shapes, parts, distinct;
  std::vector<uint32_t> shape, number_of(n, 0), met_by(n, 0);
  for (uint32_t s = 1; s < n; ++s) {
    budget.pass(1);
    shape.clear();
    uint32_t num_targets = 0;
    for (const ByteRange& range : ranges(s)) {
      if (met_by[range.to] != s) {
        met_by[range.to] = s;
        number_of[range.to] = num_targets++;
      }
      shape.push_back(range.low | uint32_t{range.high} << 8 | number_of[range.to] << 16);
    }
    bool is_new = false;
    (void)shapes.intern(shape, &is_new);
    if (!is_new) continue;
    parts.clear();
    for (const ByteRange& range : ranges(s)) {
      for (uint32_t i = interval[range.low]; i <= interval[range.high]; ++i) {
        const uint32_t part[] = {kind[i], number_of[range.to]};
        kind[i] = num_kinds + parts.intern(part);
      }
    }
    num_kinds += static_cast<uint32_t>(parts.size());
  }
  std::vector<uint32_t> class_of_interval(width);
  for (uint32_t i = 0; i < width; ++i) class_of_interval[i] = distinct.intern({&kind[i], 1});
  num_classes_ = static_cast<uint32_t>(distinct.size());
  byte_of_.assign(num_classes_, 0);
  class_size_.assign(num_classes_, 0);
  for (uint32_t b = 256; b-- > 0;) {
    class_of_[b] = static_cast<uint8_t>(class_of_interval[interval[b]]);
    byte_of_[class_of_[b]] = static_cast<uint8_t>(b);
    ++class_size_[class_of_[b]];
  }
  next_.clear();
  if (uint64_t{n} * num_classes_ * sizeof(uint32_t) > Budget::kMaxTableBytes) return;
  next_.assign(size_t{n} * num_classes_, 0);
  for (uint32_t s = 1; s < n; ++s) {
    uint32_t* const row = next_.data() + size_t{s} * num_classes_;
    for (const ByteRange& range : ranges(s)) {
      for (uint32_t i = interval[range.low]; i <= interval[range.high]; ++i) {
        row[class_of_interval[i]] = range.to;
      }
    }
  }
}

Automaton Automaton::restricted_to(const ByteSet& allowed, WorkWatch* watch) const {
  Budget budget(watch);
  Automaton result = *this;
  std::vector<ByteRange> kept;
  std::vector<uint32_t> begin{0, 0};
  for (uint32_t s = 1; s < num_states(); ++s) {
    budget.pass(1 + ranges(s).size());
    for (const ByteRange& range : ranges(s)) {
      for (uint32_t b = range.low; b <= range.high; ++b) {
        if (!allowed[b]) continue;
        const auto byte = static_cast<uint8_t>(b);
        if (kept.size() > begin.back() && kept.back().high + 1 == byte &&
            kept.back().to == range.to) {
          kept.back().high = byte;
        } else {
          kept.push_back({byte, byte, range.to});
        }
      }
    }
    begin.push_back(static_cast<uint32_t>(kept.size()));
  }
  result.ranges_ = std::move(kept);
  result.range_begin_ = std::move(begin);
  result.finish(budget);
  return result;
}

size_t Automaton::size_bytes() const {
  return next_.capacity() * 4 + ranges_.capacity() * sizeof(ByteRange) +
         specials_.capacity() * sizeof(Special) + ahead_.capacity() * sizeof(Ahead) +
         num_states() * size_t{26} + actions_.capacity() * sizeof(Action) +
         objects_.capacity() * sizeof(ObjectSpec) + sizeof(Automaton);
}

}  // namespace tenon::grammar
