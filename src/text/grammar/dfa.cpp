#include "text/grammar/dfa.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "text/grammar/code_points.h"
#include "text/grammar/interner.h"
#include "text/grammar/refine.h"
#include "text/grammar/subset_construction.h"

namespace tenon::grammar {
namespace {

// Number of states above which minimising takes longer than it saves.
constexpr uint32_t kMinimiseLimit = 20'000;

static_assert(kDead == kNoGroup);

/// Appends a state with these ranges, merging neighbours that lead to the same state.
void add_state(Dfa& dfa, std::span<const ByteRange> ranges, uint32_t label) {
  for (const ByteRange& range : ranges) {
    const bool first = dfa.ranges.size() == dfa.begin.back();
    if (!first && dfa.ranges.back().to == range.to && dfa.ranges.back().high + 1 == range.low) {
      dfa.ranges.back().high = range.high;
    } else {
      dfa.ranges.push_back(range);
    }
  }
  dfa.begin.push_back(static_cast<uint32_t>(dfa.ranges.size()));
  dfa.label.push_back(label);
}

}  // namespace

uint32_t Dfa::step(uint32_t state, uint8_t byte) const {
  if (state == kDead) return kDead;
  for (const ByteRange& range : of(state)) {
    if (byte <= range.high) return byte >= range.low ? range.to : kDead;
  }
  return kDead;
}

uint32_t Dfa::run(std::string_view text) const {
  if (empty()) return 0;
  uint32_t state = start;
  for (const char c : text) state = step(state, static_cast<uint8_t>(c));
  return state == kDead ? 0 : label[state];
}

uint32_t Dfa::shortest() const {
  if (empty()) return kDead;
  std::vector<uint32_t> distance(size(), kDead);
  std::queue<uint32_t> queue;
  queue.push(start);
  distance[start] = 0;
  while (!queue.empty()) {
    const uint32_t state = queue.front();
    queue.pop();
    if (label[state] != 0) return distance[state];
    for (const ByteRange& range : of(state)) {
      if (distance[range.to] != kDead) continue;
      distance[range.to] = distance[state] + 1;
      queue.push(range.to);
    }
  }
  return kDead;
}

Dfa minimise(const Dfa& dfa, Budget& budget) {
  const uint32_t n = dfa.size();
  Dfa out;
  if (n == 0) return out;
  // Mark the states that reach a label, backwards over the edges.
  const Predecessors back(n, [&](auto visit) {
    for (uint32_t s = 0; s < n; ++s) {
      for (const ByteRange& range : dfa.of(s)) visit(s, range.to);
    }
  });
  budget.spend(dfa.ranges.size() + n);
  std::vector<uint32_t> group(n, kDead), work;
  for (uint32_t s = 0; s < n; ++s) {
    if (dfa.label[s] == 0) continue;
    group[s] = 0;
    work.push_back(s);
  }
  while (!work.empty()) {
    const uint32_t s = work.back();
    work.pop_back();
    for (uint32_t i = back.begin[s]; i < back.begin[s + 1]; ++i) {
      const uint32_t before = back.from[i];
      if (group[before] != kDead) continue;
      group[before] = 0;
      work.push_back(before);
    }
  }
  if (group[dfa.start] == kDead) return out;
  // States stay together while their labels are equal and their bytes lead to equal groups.
  uint32_t num_groups = 0;
  if (n <= kMinimiseLimit) {
    Interner labels;
    for (uint32_t s = 0; s < n; ++s) {
      const uint32_t label[] = {dfa.label[s]};
      if (group[s] != kDead) group[s] = labels.intern(label);
    }
    num_groups = static_cast<uint32_t>(labels.size());
    const auto row = [&](uint32_t s, std::vector<uint32_t>& key) {
      const size_t first = key.size();
      for (const ByteRange& range : dfa.of(s)) {
        if (group[range.to] == kDead) continue;
        const bool joins = key.size() > first && key.back() == group[range.to] &&
                           (key[key.size() - 2] & 0xFF) + 1 == range.low;
        if (joins) {
          key[key.size() - 2] = (key[key.size() - 2] & ~0xFFu) | range.high;
        } else {
          key.push_back(uint32_t{range.low} << 8 | range.high);
          key.push_back(group[range.to]);
        }
      }
    };
    (void)refine(group, num_groups, back, kAllRounds, row, [&](size_t words) {
      budget.spend(words);
      return true;
    });
  } else {
    for (uint32_t s = 0; s < n; ++s) {
      if (group[s] != kDead) group[s] = num_groups++;
    }
  }
  std::vector<uint32_t> leader(num_groups, kDead);
  for (uint32_t s = n; s-- > 0;) {
    if (group[s] != kDead) leader[group[s]] = s;
  }
  std::vector<ByteRange> ranges;
  for (uint32_t g = 0; g < num_groups; ++g) {
    ranges.clear();
    for (const ByteRange& range : dfa.of(leader[g])) {
      if (group[range.to] != kDead) ranges.push_back({range.low, range.high, group[range.to]});
    }
    add_state(out, ranges, dfa.label[leader[g]]);
  }
  out.start = group[dfa.start];
  return out;
}

Dfa combine(std::span<const Dfa* const> parts,
            const std::function<uint32_t(std::span<const uint32_t>)>& label, Budget& budget) {
  Dfa out;
  const size_t n = parts.size();
  std::vector<uint32_t> key(n), labels(n);
  for (size_t i = 0; i < n; ++i) key[i] = parts[i]->empty() ? kDead : parts[i]->start;
  if (key[0] == kDead) return out;
  Interner states;
  states.intern(key);
  std::vector<ByteRange> ranges;
  for (uint32_t at = 0; at < states.size(); ++at) {
    const std::span<const uint32_t> now = states.words(at);
    const std::vector<uint32_t> from(now.begin(), now.end());
    bool bounds[257] = {};
    for (size_t i = 0; i < n; ++i) {
      labels[i] = from[i] == kDead ? 0 : parts[i]->label[from[i]];
      if (from[i] == kDead) continue;
      for (const ByteRange& range : parts[i]->of(from[i])) {
        bounds[range.low] = bounds[range.high + 1] = true;
      }
    }
    ranges.clear();
    for (const ByteRange& range : parts[0]->of(from[0])) {
      for (uint32_t low = range.low; low <= range.high;) {
        uint32_t high = low;
        while (high < range.high && !bounds[high + 1]) ++high;
        key[0] = range.to;
        for (size_t i = 1; i < n; ++i) key[i] = parts[i]->step(from[i], static_cast<uint8_t>(low));
        budget.spend(n);
        ranges.push_back(
            {static_cast<uint8_t>(low), static_cast<uint8_t>(high), states.intern(key)});
        low = high + 1;
      }
    }
    budget.add_nodes(1);
    add_state(out, ranges, label(labels));
  }
  return minimise(out, budget);
}

void append_words(const Dfa& dfa, std::string& out) {
  if (const uint64_t number = dfa.number.get(); number != 0) {
    out += '#';
    out.append(reinterpret_cast<const char*>(&number), sizeof number);
    return;
  }
  std::vector<uint32_t> words;
  words.reserve(2 + 2 * size_t{dfa.size()} + 2 * dfa.ranges.size());
  words.insert(words.end(), {dfa.size(), dfa.start});
  for (uint32_t s = 0; s < dfa.size(); ++s) {
    words.insert(words.end(), {dfa.label[s], static_cast<uint32_t>(dfa.of(s).size())});
    for (const ByteRange& range : dfa.of(s)) {
      words.insert(words.end(), {range.low | uint32_t{range.high} << 8, range.to});
    }
  }
  out.append(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t));
}

Dfa any_text(Budget& budget) {
  Nfa nfa(budget);
  const uint32_t node = nfa.add_node();
  add_code_points(nfa, CodePoints::all(), node, node);
  return minimise(make_deterministic(nfa, node, node).dfa, budget);
}

Dfa both(const Dfa& a, const Dfa& b, Budget& budget) {
  const Dfa* const parts[] = {&a, &b};
  return combine(
      parts, [](auto labels) { return labels[0] && labels[1] ? 1u : 0u; }, budget);
}

Dfa without(const Dfa& a, const Dfa& b, Budget& budget) {
  const Dfa* const parts[] = {&a, &b};
  return combine(
      parts, [](auto labels) { return labels[0] && !labels[1] ? 1u : 0u; }, budget);
}

Dfa either(const Dfa& a, const Dfa& b, Budget& budget) {
  const Dfa all = any_text(budget);
  const Dfa* const parts[] = {&all, &a, &b};
  return combine(
      parts, [](auto labels) { return labels[1] || labels[2] ? 1u : 0u; }, budget);
}

Dfa of_texts(std::span<const std::string> texts, bool same_label, Budget& budget) {
  struct Node {
    std::vector<std::pair<uint8_t, uint32_t>> next;
    uint32_t label = 0;
  };
  std::vector<Node> nodes(1);
  for (size_t i = 0; i < texts.size(); ++i) {
    uint32_t at = 0;
    for (const char c : texts[i]) {
      const auto byte = static_cast<uint8_t>(c);
      auto& next = nodes[at].next;
      const auto found =
          std::find_if(next.begin(), next.end(), [byte](const auto& e) { return e.first == byte; });
      if (found != next.end()) {
        at = found->second;
        continue;
      }
      budget.add_nodes(1);
      const auto fresh = static_cast<uint32_t>(nodes.size());
      next.emplace_back(byte, fresh);
      nodes.emplace_back();
      at = fresh;
    }
    if (nodes[at].label == 0) nodes[at].label = same_label ? 1 : static_cast<uint32_t>(i) + 1;
  }
  Dfa trie;
  std::vector<ByteRange> ranges;
  for (Node& node : nodes) {
    std::sort(node.next.begin(), node.next.end());
    ranges.clear();
    for (const auto& [byte, to] : node.next) ranges.push_back({byte, byte, to});
    add_state(trie, ranges, node.label);
  }
  return minimise(trie, budget);
}

Dfa of_length(uint64_t minimum, uint64_t maximum, Budget& budget) {
  const bool open = maximum == UINT64_MAX;
  if (!open && maximum < minimum) return Dfa();
  const uint64_t last = open ? minimum : maximum;
  if (last > Budget::kMaxNodes) budget.refuse("a length of {} is too large", last);
  Nfa nfa(budget);
  const uint32_t final = nfa.add_node();
  uint32_t node = nfa.add_node();
  const uint32_t start = node;
  const CodePoints all = CodePoints::all();
  for (uint64_t i = 0;; ++i) {
    if (i >= minimum) nfa.add_epsilon(node, final);
    if (i == last) break;
    const uint32_t next = nfa.add_node();
    add_code_points(nfa, all, node, next);
    node = next;
  }
  if (open) add_code_points(nfa, all, node, node);
  return make_deterministic(nfa, start, final).dfa;
}

void add_dfa(Nfa& nfa, const Dfa& dfa, uint32_t from,
             const std::function<uint32_t(uint32_t label)>& to) {
  std::vector<uint32_t> node(dfa.size());
  for (uint32_t& n : node) n = nfa.add_node();
  if (!dfa.empty()) nfa.add_epsilon(from, node[dfa.start]);
  for (uint32_t s = 0; s < dfa.size(); ++s) {
    for (const ByteRange& range : dfa.of(s)) {
      nfa.add_bytes(node[s], range.low, range.high, node[range.to]);
    }
    if (dfa.label[s] != 0) nfa.add_epsilon(node[s], to(dfa.label[s]));
  }
}

}  // namespace tenon::grammar
