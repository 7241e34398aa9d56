#include "text/tokenizer/special_matcher.h"

#include <algorithm>

#include "base/error.h"

namespace tenon {

SpecialMatcher::SpecialMatcher(std::span<const Entry> entries) {
  std::vector<uint64_t> parents{0};  // [states] the edge to each state
  size_t size_bytes = 0;
  for (const Entry& entry : entries) {
    size_bytes += entry.text.size();
    if (size_bytes > kMaxBytes) {
      fail(Code::Limit, "the tokens that are matched in text have more than {} bytes", kMaxBytes);
    }
    uint32_t state = 0;
    longest_ = std::max(longest_, entry.text.size());
    for (size_t i = entry.text.size(); i-- > 0;) {
      const uint64_t key = edge(state, static_cast<uint8_t>(entry.text[i]));
      const auto [place, is_new] = edges_.try_emplace(key, static_cast<uint32_t>(states_.size()));
      if (is_new) {
        states_.emplace_back();
        parents.push_back(key);
      }
      state = place->second;
    }
    states_[state].size = static_cast<uint32_t>(entry.text.size());
    states_[state].token = entry.token;
  }

  // Shorter states first: fallbacks are complete before they are used.
  std::vector<uint32_t> depth(states_.size(), 0);
  std::vector<uint32_t> order(states_.size());
  for (uint32_t s = 0; s < states_.size(); ++s) {
    if (s > 0) depth[s] = depth[parents[s] >> 8] + 1;
    order[s] = s;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&depth](uint32_t a, uint32_t b) { return depth[a] < depth[b]; });
  for (const uint32_t s : order) {
    if (s == 0) continue;
    const auto parent = static_cast<uint32_t>(parents[s] >> 8);
    const auto byte = static_cast<uint8_t>(parents[s]);
    if (parent == 0) {
      from_root_[byte] = s;
    } else {
      states_[s].fallback = next_state(states_[parent].fallback, byte);
    }
    const State& fallback = states_[states_[s].fallback];
    if (states_[s].size == 0) {
      states_[s].size = fallback.size;
      states_[s].token = fallback.token;
    }
  }
}

uint32_t SpecialMatcher::next_state(uint32_t state, uint8_t byte) const {
  while (state != 0) {
    const auto place = edges_.find(edge(state, byte));
    if (place != edges_.end()) return place->second;
    state = states_[state].fallback;
  }
  return from_root_[byte];
}

void SpecialMatcher::find_starting(std::string_view text, size_t begin, size_t end,
                                   std::vector<Found>& out) const {
  out.clear();
  uint32_t state = 0;
  for (size_t i = std::min(end + longest_, text.size()); i-- > begin;) {
    // Most characters end no string.
    if (state == 0 && from_root_[static_cast<uint8_t>(text[i])] == 0) continue;
    state = next_state(state, static_cast<uint8_t>(text[i]));
    if (i < end && states_[state].size > 0) {
      out.push_back({static_cast<uint32_t>(i), states_[state].size, states_[state].token});
    }
  }
}

std::vector<SpecialMatcher::Found> SpecialMatcher::find_all(std::string_view text) const {
  std::vector<Found> found;
  find_each(text, [&found](const Found& match) { found.push_back(match); });
  return found;
}

}  // namespace tenon
