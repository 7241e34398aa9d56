#include "text/grammar/count_limit.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "text/unicode/json_escapes.h"

namespace tenon::grammar {
namespace {

constexpr uint32_t kShortEscapeBytes = 2;

bool is_digit(uint32_t byte) { return byte >= '0' && byte <= '9'; }

/// True if a byte counts: a digit, or the first byte of a character.
bool is_counted(uint32_t byte, bool digits) {
  return digits ? is_digit(byte) : byte < 0x80 || byte >= 0xC0;
}

/// JSON bytes per byte of a text.
uint32_t weight_of(uint32_t byte, bool digits) {
  const auto c = static_cast<char>(byte);
  if (digits || byte >= 0x80 || !needs_json_escape(c)) return 1;
  return static_cast<uint32_t>(json_escape(c).size());
}

/// Splits a range by count and weight: calls visit(low, high, counted, weight).
template <typename Visit>
void for_each_part(const ByteRange& range, bool digits, Visit visit) {
  for (uint32_t low = range.low; low <= range.high;) {
    const bool counted = is_counted(low, digits);
    const uint32_t weight = weight_of(low, digits);
    uint32_t high = low;
    while (high < range.high && is_counted(high + 1, digits) == counted &&
           weight_of(high + 1, digits) == weight) {
      ++high;
    }
    visit(counted, weight);
    low = high + 1;
  }
}

struct Way {
  uint32_t to;
  uint32_t count;
  uint32_t weight;
};

std::vector<std::vector<Way>> ways_of(const Dfa& dfa, bool digits, Budget& budget) {
  std::vector<std::vector<Way>> ways(dfa.size());
  for (uint32_t s = 0; s < dfa.size(); ++s) {
    for (const ByteRange& range : dfa.of(s)) {
      for_each_part(range, digits, [&](bool counted, uint32_t weight) {
        ways[s].push_back({range.to, counted ? 1u : 0u, weight});
      });
    }
    budget.spend(1 + ways[s].size());
  }
  return ways;
}

/// Least `length` from each state to an end, with the least `other` among equals.
template <typename Length, typename Other>
std::vector<std::pair<uint32_t, uint32_t>> shortest(const Dfa& dfa,
                                                    const std::vector<std::vector<Way>>& ways,
                                                    Length length, Other other) {
  using Cost = std::pair<uint32_t, uint32_t>;
  std::vector<std::vector<std::pair<uint32_t, Cost>>> back(dfa.size());
  for (uint32_t s = 0; s < dfa.size(); ++s) {
    for (const Way& way : ways[s]) back[way.to].push_back({s, {length(way), other(way)}});
  }
  std::vector<Cost> least(dfa.size(), Cost{kDead, kDead});
  using Entry = std::pair<Cost, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (uint32_t s = 0; s < dfa.size(); ++s) {
    if (dfa.label[s] == 0) continue;
    least[s] = {0, 0};
    queue.push({least[s], s});
  }
  while (!queue.empty()) {
    const auto [cost, s] = queue.top();
    queue.pop();
    if (cost != least[s]) continue;
    for (const auto& [from, step] : back[s]) {
      const Cost through{cost.first + step.first, cost.second + step.second};
      if (through >= least[from]) continue;
      least[from] = through;
      queue.push({through, from});
    }
  }
  return least;
}

}  // namespace

CharacterCounts::CharacterCounts(const Dfa& dfa, bool digits, Budget& budget) : start_(dfa.start) {
  if (dfa.empty()) return;
  measure(dfa, digits, budget);
  find_most(dfa, digits, budget);
}

void CharacterCounts::measure(const Dfa& dfa, bool digits, Budget& budget) {
  const auto ways = ways_of(dfa, digits, budget);
  const auto count = [](const Way& way) { return way.count; };
  const auto weight = [](const Way& way) { return way.weight; };
  const auto by_count = shortest(dfa, ways, count, weight);
  const auto by_bytes = shortest(dfa, ways, weight, count);
  budget.spend(8 * dfa.ranges.size());
  for (uint32_t s = 0; s < dfa.size(); ++s) {
    fewest_.push_back(by_count[s].first);
    fewest_are_shortest_ &= by_count[s].first == by_bytes[s].second;
    // Only some paths remain after an escape's backslash, and fewer with each digit of "\\u00". The
    // shortest of these must not count more.
    std::vector<std::pair<uint32_t, uint32_t>> escaped, by_code;
    for (const Way& way : ways[s]) {
      if (way.weight == 1) continue;
      const std::pair way_on{way.weight + by_bytes[way.to].first, by_count[way.to].first};
      escaped.push_back(way_on);
      if (way.weight > kShortEscapeBytes) by_code.push_back(way_on);
    }
    std::sort(escaped.begin(), escaped.end());
    std::sort(by_code.begin(), by_code.end());
    for (const auto& way : escaped) fewest_are_shortest_ &= escaped[0].second <= way.second;
    for (size_t i = 1; i < by_code.size(); ++i) {
      fewest_are_shortest_ &= by_code[i - 1].second <= by_code[i].second;
    }
  }
}

void CharacterCounts::find_most(const Dfa& dfa, bool digits, Budget& budget) {
  // Depth-first search; in a trimmed automaton, an edge back into the path can repeat forever.
  // Cycles without a counted step are harmless, and do not occur.
  const auto ways = ways_of(dfa, digits, budget);
  std::vector<uint8_t> mark(dfa.size(), 0);  // 1: on the path, 2: done
  std::vector<uint64_t> most(dfa.size(), 0);
  std::vector<std::pair<uint32_t, size_t>> path{{dfa.start, 0}};
  mark[dfa.start] = 1;
  while (!path.empty()) {
    auto& [s, i] = path.back();
    if (i == ways[s].size()) {
      for (const Way& way : ways[s]) most[s] = std::max(most[s], way.count + most[way.to]);
      mark[s] = 2;
      path.pop_back();
      continue;
    }
    const uint32_t to = ways[s][i++].to;
    if (mark[to] == 1) {
      most_ = UINT64_MAX;
      return;
    }
    if (mark[to] == 0) {
      mark[to] = 1;
      path.emplace_back(to, 0);
    }
  }
  most_ = most[dfa.start];
}

std::optional<CountLimit> CharacterCounts::limited_to(uint32_t maximum) const {
  if (fewest_.empty() || fewest_[start_] > maximum) return std::nullopt;
  CountLimit limit;
  for (const uint32_t fewest : fewest_) {
    limit.below.push_back(fewest > maximum ? 0 : maximum - fewest);
  }
  return limit;
}

std::optional<CountLimit> limit_of_digits(const Dfa& dfa, Budget& budget) {
  if (dfa.empty()) return std::nullopt;
  const CharacterCounts counts(dfa, true, budget);
  if (counts.most() <= kMostDigits || !counts.fewest_are_shortest()) return std::nullopt;
  const uint32_t least = counts.fewest_[dfa.start];
  return counts.limited_to(std::max(kMostDigits, least + kMostDigits / 2));
}

}  // namespace tenon::grammar
