// Partition refinement (Moore 1956): splits groups of states until the states of a group lead to
// the same groups. A round examines only states with an edge to a state that has just left its
// group.
//
//   0 -a-> 1 -a-> 2 (final)   groups {0, 1} {2}; round 1: 1 leads to {2}, 0 does not: {0} {1} {2}
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "text/grammar/interner.h"

namespace tenon::grammar {

inline constexpr uint32_t kNoGroup = UINT32_MAX;  // group of excluded states
inline constexpr size_t kAllRounds = std::numeric_limits<size_t>::max();

/// Predecessors of each state, end to end.
struct Predecessors {
  /// for_each_edge(visit): calls visit(from, to) for each edge; called twice.
  template <typename ForEachEdge>
  Predecessors(uint32_t num_states, ForEachEdge for_each_edge) : begin(num_states + 1, 0) {
    for_each_edge([this](uint32_t, uint32_t to) { ++begin[to + 1]; });
    for (uint32_t s = 0; s < num_states; ++s) begin[s + 1] += begin[s];
    from.resize(begin[num_states]);
    std::vector<uint32_t> fill(begin.begin(), begin.end() - 1);
    for_each_edge([&](uint32_t at, uint32_t to) { from[fill[to]++] = at; });
  }
  std::vector<uint32_t> begin;  // [states + 1]
  std::vector<uint32_t> from;
};

/// After k rounds, two states share a group exactly if they did at first and no k steps tell them
/// apart. Returns true if more rounds would change nothing.
///   group      [states] below num_groups, or kNoGroup
///   row(s, r)  appends to `r` the groups that state s leads to
///   spend(n)   counts work; returning false stops with meaningless groups
template <typename Row, typename Spend>
bool refine(std::vector<uint32_t>& group, uint32_t& num_groups, const Predecessors& before,
            size_t rounds, Row row, Spend spend) {
  const auto n = static_cast<uint32_t>(group.size());
  std::vector<uint32_t> size(num_groups, 0);  // per group
  std::vector<uint32_t> dirty, moved, words, row_of, rows_of_group, group_of_row, queued(n, 0);
  for (uint32_t s = 0; s < n; ++s) {
    if (group[s] == kNoGroup) continue;
    ++size[group[s]];
    dirty.push_back(s);
  }
  for (size_t round = 1; !dirty.empty(); ++round) {
    if (round > rounds) return false;
    Interner rows;
    row_of.clear();
    rows_of_group.assign(num_groups, 0);  // examined states of the group
    for (const uint32_t s : dirty) {
      words.assign(1, group[s]);
      row(s, words);
      if (!spend(words.size())) return false;
      row_of.push_back(rows.intern(words));
      ++rows_of_group[group[s]];
    }
    // The unexamined states of a group lead where they did, so each row forms a new group. Without
    // such states, the first row keeps the group.
    group_of_row.assign(rows.size(), kNoGroup);
    moved.clear();
    for (size_t i = 0; i < dirty.size(); ++i) {
      const uint32_t s = dirty[i], old = group[s];
      uint32_t& to = group_of_row[row_of[i]];
      if (to == kNoGroup) {
        const bool keeps = rows_of_group[old] == size[old];
        if (keeps) rows_of_group[old] = kNoGroup;  // the first row only
        to = keeps ? old : num_groups++;
        if (!keeps) size.push_back(0);
      }
      if (to != old) moved.push_back(s);
      row_of[i] = to;
    }
    for (size_t i = 0; i < dirty.size(); ++i) {
      const uint32_t s = dirty[i];
      if (row_of[i] == group[s]) continue;
      --size[group[s]];
      group[s] = row_of[i];
      ++size[group[s]];
    }
    dirty.clear();
    const auto stamp = static_cast<uint32_t>(round);
    for (const uint32_t s : moved) {
      for (uint32_t i = before.begin[s]; i < before.begin[s + 1]; ++i) {
        const uint32_t from = before.from[i];
        if (queued[from] == stamp || group[from] == kNoGroup) continue;
        queued[from] = stamp;
        dirty.push_back(from);
      }
    }
  }
  return true;
}

}  // namespace tenon::grammar
