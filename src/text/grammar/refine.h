// Partition refinement (Moore 1956): splits groups of states until the states of one group lead to
// the same groups. A round looks only at states with an edge to one that has just left its group.
//
//   0 -a-> 1 -a-> 2 (final)   groups {0, 1} {2}; round 1: 1 leads to {2}, 0 does not: {0} {1} {2}
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "text/grammar/interner.h"

namespace tenon::grammar {

inline constexpr uint32_t kNoGroup = UINT32_MAX;  // of states that are left out
inline constexpr size_t kAllRounds = std::numeric_limits<size_t>::max();

/// For each state those that lead to it, end to end.
struct Predecessors {
  /// for_each_edge(visit): calls visit(from, to) for each edge; it is called twice.
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

/// After k rounds, states are in one group exactly when they were at first and no k steps tell them
/// apart. Returns whether more rounds would change nothing.
///   group      [states] below num_groups, or kNoGroup
///   row(s, r)  appends to `r` where state s leads, in numbers of `group`
///   spend(n)   counts work; false: stop here, with groups that mean nothing
template <typename Row, typename Spend>
bool refine(std::vector<uint32_t>& group, uint32_t& num_groups, const Predecessors& before,
            size_t rounds, Row row, Spend spend) {
  const auto n = static_cast<uint32_t>(group.size());
  std::vector<uint32_t> size(num_groups, 0);  // of groups
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
    rows_of_group.assign(num_groups, 0);  // states of the group that were looked at
    for (const uint32_t s : dirty) {
      words.assign(1, group[s]);
      row(s, words);
      if (!spend(words.size())) return false;
      row_of.push_back(rows.intern(words));
      ++rows_of_group[group[s]];
    }
    // The other states of a group lead where they did, so each row is new. Without others, the
    // first row goes on as the group.
    group_of_row.assign(rows.size(), kNoGroup);
    moved.clear();
    for (size_t i = 0; i < dirty.size(); ++i) {
      const uint32_t s = dirty[i], old = group[s];
      uint32_t& to = group_of_row[row_of[i]];
      if (to == kNoGroup) {
        const bool keeps = rows_of_group[old] == size[old];
        if (keeps) rows_of_group[old] = kNoGroup;  // only the first row
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
