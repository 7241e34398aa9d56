#include "sampler/text_set.h"

#include <string_view>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon {

TextSet::TextSet(std::span<const std::string> texts, const Rules& rules) : rules_(rules) {
  const char* name = rules.name;
  if (texts.size() > kMaxTexts) {
    fail(Code::Limit, "{}: {} texts, the limit is {}", name, texts.size(), kMaxTexts);
  }
  size_t size_bytes = 0;
  for (const std::string& text : texts) {
    if (text.empty()) fail(Code::Argument, "{}: an empty text is everywhere", name);
    if (!is_utf8(text)) fail(Code::Argument, "{}: {} is not UTF-8", name, quoted(text));
    if (text.size() > rules.max_text_bytes) {
      fail(Code::Limit, "{}: a text of {} bytes, the limit is {}", name, text.size(),
           rules.max_text_bytes);
    }
    size_bytes += text.size();
    if (size_bytes > kMaxBytes) fail(Code::Limit, "{}: more than {} bytes", name, kMaxBytes);
    add(text);
  }
  link();
}

void TextSet::add(std::string_view text) {
  uint32_t at = 0;
  for (const char c : text) {
    const char byte = folded(c);
    uint32_t on = child(at, byte);
    if (on == 0) {
      on = static_cast<uint32_t>(states_.size());
      states_.push_back({0, states_[at].depth + 1, 0, 0, states_[at].first_child, byte});
      states_[at].first_child = on;
    }
    at = on;
  }
  states_[at].match = states_[at].depth;
}

void TextSet::link() {
  // Level by level: fallbacks are complete before they are used.
  std::vector<uint32_t> order{0};
  for (size_t i = 0; i < order.size(); ++i) {
    const uint32_t parent = order[i];
    for (uint32_t at = states_[parent].first_child; at != 0; at = states_[at].sibling) {
      State& state = states_[at];
      if (parent != 0) state.fallback = after(states_[parent].fallback, state.byte);
      const uint32_t shorter = states_[state.fallback].match;
      if (state.match == 0 || (rules_.shortest && shorter != 0)) state.match = shorter;
      order.push_back(at);
    }
  }
}

char TextSet::folded(char byte) const {
  const bool upper = rules_.ignore_case && byte >= 'A' && byte <= 'Z';
  return upper ? static_cast<char>(byte - 'A' + 'a') : byte;
}

uint32_t TextSet::child(uint32_t state, char byte) const {
  uint32_t at = states_[state].first_child;
  while (at != 0 && states_[at].byte != byte) at = states_[at].sibling;
  return at;
}

uint32_t TextSet::after(uint32_t state, char byte) const {
  while (true) {
    if (const uint32_t on = child(state, byte); on != 0) return on;
    if (state == 0) return 0;
    state = states_[state].fallback;
  }
}

uint32_t TextSet::next(uint32_t state, char byte) const { return after(state, folded(byte)); }

}  // namespace tenon
