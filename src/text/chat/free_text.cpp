#include "text/chat/free_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/chat_formats/reply_stream.h"

namespace tenon {
namespace {

/// Longest suffix of the text that begins a stop, and whether the suffix is the whole text.
using Seen = std::pair<std::string, bool>;

class FreeText {
 public:
  explicit FreeText(std::span<const FreeTextStop> stops) : stops_(stops) {
    for (const FreeTextStop& stop : stops) {
      for (const char c : stop.bytes) matters_[static_cast<uint8_t>(c)] = true;
    }
    for (const char c : {' ', '\t', '\n', '\v', '\f', '\r'}) {
      matters_[static_cast<uint8_t>(c)] = true;
    }
  }

  [[nodiscard]] bool matters(uint8_t byte) const { return matters_[byte]; }

  /// Stop completed by the byte. Returns null if none is; `seen` then includes the byte.
  const FreeTextStop* step(Seen& seen, char byte) const {
    const std::string text = seen.first + byte;
    for (const FreeTextStop& stop : stops_) {
      const bool here = stop.at_start ? seen.second && text == stop.bytes
                                      : std::string_view(text).ends_with(stop.bytes);
      if (here) return &stop;
    }
    if (seen.second && begins_stop(text, true)) {
      seen.first = text;
      return nullptr;
    }
    if (seen.second && seen.first.empty() && is_reply_space(byte)) return nullptr;
    std::string_view rest = text;
    while (!begins_stop(rest, false)) rest.remove_prefix(1);
    seen = {std::string(rest), false};
    return nullptr;
  }

 private:
  [[nodiscard]] bool begins_stop(std::string_view text, bool is_start) const {
    if (text.empty()) return true;
    return std::any_of(stops_.begin(), stops_.end(), [&](const FreeTextStop& stop) {
      return (is_start || !stop.at_start) && stop.bytes.starts_with(text);
    });
  }

  std::span<const FreeTextStop> stops_;
  bool matters_[256] = {};
};

}  // namespace

void add_free_text(grammar::Nfa& nfa, uint32_t from, std::span<const FreeTextStop> stops,
                   uint8_t highest, std::optional<uint32_t> ends_at) {
  const FreeText text(stops);
  std::map<Seen, uint32_t> nodes{{{"", true}, from}};
  std::vector<Seen> todo{{"", true}};
  const auto node_of = [&](const Seen& seen) {
    const auto [at, is_new] = nodes.try_emplace(seen, 0);
    if (is_new) {
      at->second = nfa.add_node();
      todo.push_back(seen);
    }
    return at->second;
  };
  for (size_t i = 0; i < todo.size(); ++i) {
    const uint32_t here = nodes[todo[i]];
    if (ends_at) nfa.add_epsilon(here, *ends_at);
    uint32_t low = 0;
    // Merge bytes that occur in no stop.
    const auto flush = [&](uint32_t after) {
      if (low < after) {
        nfa.add_bytes(here, static_cast<uint8_t>(low), static_cast<uint8_t>(after - 1),
                      node_of({"", false}));
      }
      low = after + 1;
    };
    for (uint32_t b = 0; b <= highest; ++b) {
      const auto byte = static_cast<uint8_t>(b);
      if (!text.matters(byte)) continue;
      flush(b);
      Seen seen = todo[i];
      const FreeTextStop* stop = text.step(seen, static_cast<char>(byte));
      const bool is_forbidden = stop != nullptr && stop->to == FreeTextStop::kNowhere;
      if (is_forbidden) continue;
      nfa.add_bytes(here, byte, byte, stop != nullptr ? stop->to : node_of(seen));
    }
    flush(uint32_t{highest} + 1);
  }
}

uint32_t free_text_rule(grammar::Nfa& nfa, const std::string& stop, uint8_t highest,
                        std::map<std::string, uint32_t>& known) {
  const auto [at, is_new] = known.try_emplace(stop, 0);
  if (!is_new) return at->second;
  const uint32_t rule = at->second = nfa.add_rule("");
  const std::array<FreeTextStop, 1> stops{{{stop, nfa.rule(rule).final}}};
  add_free_text(nfa, nfa.rule(rule).start, stops, highest);
  return rule;
}

}  // namespace tenon
