#include "text/grammar/equivalent_states.h"

#include <numeric>

#include "text/grammar/interner.h"
#include "text/grammar/refine.h"

namespace tenon::grammar {
namespace {

// Bound on visited transitions, about 10 ms.
constexpr uint64_t kMaxWork = 1'000'000;

/// Words that are equal for states that agree before the first byte.
void begin_row(const Automaton& automaton, uint32_t state, std::vector<uint32_t>& row) {
  const bool far = automaton.base(state) == kFar;
  row = {automaton.rule_of(state), (automaton.is_final(state) ? 1u : 0u) | (far ? 2u : 0u)};
  const bool more = !automaton.specials(state).empty() || automaton.is_guarded(state);
  if (state == 0 || more) row.push_back(state);
}

}  // namespace

EquivalentStates::EquivalentStates(const Automaton& automaton, size_t bytes) {
  const uint32_t n = automaton.num_states(), classes = automaton.num_classes();
  first.resize(n);
  std::iota(first.begin(), first.end(), 0u);
  shared.assign(n, false);
  if (uint64_t{n} * classes > kMaxWork) return;

  std::vector<uint32_t> group(n), row;
  Interner rows;
  for (uint32_t s = 0; s < n; ++s) {
    begin_row(automaton, s, row);
    group[s] = rows.intern(row);
  }
  auto num_groups = static_cast<uint32_t>(rows.size());
  const auto for_each_next = [&](uint32_t s, auto visit) {
    for (uint32_t c = 0; c < classes; ++c) {
      if (const uint32_t to = automaton.next(s, c); to != 0) visit(c, to);
    }
  };
  const Predecessors before(n, [&](auto visit) {
    for (uint32_t s = 0; s < n; ++s) {
      for_each_next(s, [&](uint32_t, uint32_t to) { visit(s, to); });
    }
  });
  uint64_t work = 0;
  exact = refine(
      group, num_groups, before, bytes,
      [&](uint32_t s, std::vector<uint32_t>& words) {
        work += classes;
        for_each_next(s, [&](uint32_t c, uint32_t to) {
          words.insert(words.end(), {c, group[to], automaton.base(to) - automaton.base(s)});
        });
      },
      [&](size_t) { return work <= kMaxWork; });
  if (work > kMaxWork) {
    exact = true;
    return;
  }
  std::vector<uint32_t> first_of(num_groups, 0);
  for (uint32_t s = n; s-- > 0;) first_of[group[s]] = s;
  for (uint32_t s = 0; s < n; ++s) {
    first[s] = first_of[group[s]];
    if (first[s] != s) shared[first[s]] = true;
  }
}

}  // namespace tenon::grammar
