#include "text/grammar/json_strings.h"

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "text/grammar/interner.h"
#include "text/unicode/json_escapes.h"

namespace tenon::grammar {
namespace {

/// Range of characters that lead to state `to` of the automaton.
struct Span {
  uint32_t low;
  uint32_t high;
  uint32_t to;
};

/// Digit of an escape, the last digit first: the bits it holds, and the digit that stands for 0. A
/// surrogate pair is D800 + 10 bits, DC00 + 10 bits.
struct Digit {
  uint32_t bits;
  uint32_t first;  // hexadecimal digit that stands for 0
};
constexpr std::array kPlain = {Digit{4, 0}, Digit{4, 0}, Digit{4, 0}, Digit{4, 0}};
constexpr std::array kPair = {Digit{4, 0}, Digit{4, 0}, Digit{2, 12},
                              Digit{4, 0}, Digit{4, 0}, Digit{2, 8}};
constexpr size_t kLowSurrogate = 3;  // digits of the low surrogate, without its D

class StringWriter {
 public:
  StringWriter(Nfa& nfa, const Dfa& texts, const JsonStringOptions& options)
      : nfa_(nfa),
        texts_(texts),
        options_(options),
        ends_(texts.size(), Ends{kNoEdge, kNoEdge}),
        inside_(texts.size(), {kNoEdge, kNoEdge, kNoEdge}) {}

  void run(uint32_t from, const std::function<uint32_t(uint32_t)>& to) {
    if (texts_.empty()) return;
    nfa_.add_epsilon(from, leaves(texts_.start));
    for (size_t i = 0; i < todo_.size(); ++i) {
      const uint32_t state = todo_[i];
      const uint32_t node = leaves(state);
      add_raw(state, node);
      add_escapes(state, node);
      if (options_.calls != nullptr) {
        for (const Special& call : (*options_.calls)[state]) {
          nfa_.add_call(node, options_.first_rule + call.data, leaves(call.to));
        }
      }
      if (texts_.label[state] == 0) continue;
      uint32_t end = node;
      if (options_.closing != nullptr) {
        end = nfa_.add_node();
        nfa_.add_act(node, *options_.closing, end);
      }
      if (options_.calls != nullptr) {
        nfa_.add_epsilon(end, to(texts_.label[state]));
      } else {
        nfa_.add_bytes(end, '"', '"', to(texts_.label[state]));
      }
    }
  }

 private:
  struct Ends {
    uint32_t arrives, leaves;
  };

  /// Nodes of a state between two characters.
  const Ends& ends(uint32_t state) {
    Ends& known = ends_[state];
    if (known.leaves == kNoEdge) {
      const uint32_t node = nfa_.add_node();
      known = {node, node};
      if (options_.each != nullptr) {
        known.arrives = nfa_.add_node();
        Action each = *options_.each;
        if (options_.limits != nullptr) each.limit = (*options_.limits)[state];
        nfa_.add_act(known.arrives, each, node);
      }
      todo_.push_back(state);
    }
    return known;
  }
  uint32_t leaves(uint32_t state) { return ends(state).leaves; }
  uint32_t arrives(uint32_t state) { return ends(state).arrives; }

  /// Node inside a character with `left` bytes to come.
  uint32_t inside(uint32_t state, uint32_t left) {
    if (left == 0) return arrives(state);
    uint32_t& known = inside_[state][left - 1];
    if (known != kNoEdge) return known;
    const uint32_t node = known = nfa_.add_node();
    for (const ByteRange& range : texts_.of(state)) {
      nfa_.add_bytes(node, range.low, range.high, inside(range.to, left - 1));
    }
    return node;
  }

  void add_raw(uint32_t state, uint32_t node) {
    for (const ByteRange& range : texts_.of(state)) {
      for (uint32_t low = range.low; low <= range.high;) {
        uint32_t high = low;
        const auto kind = [](uint32_t b) {
          if (b < 0x20 || b == '"' || b == '\\') return 9u;
          return b < 0x80 ? 0u : b < 0xE0 ? 1u : b < 0xF0 ? 2u : 3u;
        };
        while (high < range.high && kind(high + 1) == kind(low)) ++high;
        if (kind(low) != 9) {
          nfa_.add_bytes(node, static_cast<uint8_t>(low), static_cast<uint8_t>(high),
                         inside(range.to, kind(low)));
        }
        low = high + 1;
      }
    }
  }

  /// Shares the part after the backslash among states with equal escapes.
  void add_needed_escapes(uint32_t state, uint32_t node) {
    std::vector<uint32_t> escapes;  // characters, each with the next state
    for (const ByteRange& range : texts_.of(state)) {
      for (uint32_t code = range.low; code <= range.high && code <= '\\'; ++code) {
        if (needs_json_escape(static_cast<char>(code))) {
          escapes.insert(escapes.end(), {code, range.to});
        }
      }
    }
    if (escapes.empty()) return;
    bool is_new = false;
    const uint32_t id = known_escapes_.intern(escapes, &is_new);
    if (is_new) {
      escape_nodes_.push_back(nfa_.add_node());
      std::map<std::string, uint32_t> begun;  // nodes by first bytes
      for (size_t i = 0; i < escapes.size(); i += 2) {
        const std::string text = json_escape(static_cast<char>(escapes[i])).substr(1);
        uint32_t at = escape_nodes_[id];
        for (size_t n = 1; n < text.size(); ++n) {
          const auto [known, is_first] = begun.try_emplace(text.substr(0, n), 0);
          if (is_first) known->second = nfa_.add_text(at, text.substr(n - 1, 1));
          at = known->second;
        }
        const auto last = static_cast<uint8_t>(text.back());
        nfa_.add_bytes(at, last, last, arrives(escapes[i + 1]));
      }
    }
    nfa_.add_bytes(node, '\\', '\\', escape_nodes_[id]);
  }

  void add_escapes(uint32_t state, uint32_t node) {
    if (options_.needed_escapes) return add_needed_escapes(state, node);
    const uint32_t escape = nfa_.add_node();
    nfa_.add_bytes(node, '\\', '\\', escape);
    for (const ShortEscape& known : kShortEscapes) {
      const uint32_t to = texts_.step(state, static_cast<uint8_t>(known.code));
      if (to == kDead) continue;
      const auto letter = static_cast<uint8_t>(known.letter);
      nfa_.add_bytes(escape, letter, letter, arrives(to));
    }
    std::vector<Span> plain, pairs;
    for (const Span& span : characters(state)) {
      if (span.low > 0xFFFF) {
        pairs.push_back({span.low - 0x10000, span.high - 0x10000, span.to});
      } else {
        plain.push_back({span.low, std::min(span.high, 0xFFFFu), span.to});
        if (span.high > 0xFFFF) pairs.push_back({0, span.high - 0x10000, span.to});
      }
    }
    const uint32_t code = nfa_.add_node();
    nfa_.add_bytes(escape, 'u', 'u', code);
    if (!plain.empty()) nfa_.add_epsilon(code, digits(plain, kPlain, kPlain.size()));
    if (!pairs.empty()) {
      const uint32_t high = digits(pairs, kPair, kPair.size());
      nfa_.add_bytes(code, 'D', 'D', high);
      nfa_.add_bytes(code, 'd', 'd', high);
    }
  }

  /// Characters that can follow a state, as spans.
  std::vector<Span> characters(uint32_t state) {
    std::vector<Span> all;
    for (const ByteRange& range : texts_.of(state)) {
      for (uint32_t b = range.low; b <= range.high; ++b) {
        if (b < 0x80) {
          put(all, {b, b, range.to});
          continue;
        }
        const uint32_t left = b < 0xE0 ? 1 : b < 0xF0 ? 2 : 3;
        const uint32_t base = (b & (0x3Fu >> left)) << (6 * left);
        for (const Span& span : rest(range.to, left)) {
          put(all, {base + span.low, base + span.high, span.to});
        }
      }
    }
    return all;
  }

  /// Spans for the last `left` bytes of a character.
  const std::vector<Span>& rest(uint32_t state, uint32_t left) {
    const auto found = rests_.find({state, left});
    if (found != rests_.end()) return found->second;
    std::vector<Span> all;
    for (const ByteRange& range : texts_.of(state)) {
      for (uint32_t b = range.low; b <= range.high; ++b) {
        const uint32_t base = (b & 0x3F) << (6 * (left - 1));
        if (left == 1) {
          put(all, {base, base, range.to});
          continue;
        }
        for (const Span& span : rest(range.to, left - 1)) {
          put(all, {base + span.low, base + span.high, span.to});
        }
      }
    }
    nfa_.budget().spend(all.size());
    return rests_.emplace(std::pair{state, left}, std::move(all)).first->second;
  }

  static void put(std::vector<Span>& all, const Span& span) {
    if (!all.empty() && all.back().to == span.to && all.back().high + 1 == span.low) {
      all.back().high = span.high;
    } else {
      all.push_back(span);
    }
  }

  /// Node before the last `count` digits, which spell the numbers of the spans.
  uint32_t digits(const std::vector<Span>& spans, std::span<const Digit> all, size_t count) {
    if (count == 0) return arrives(spans[0].to);
    key_.assign({static_cast<uint32_t>(all.size()), static_cast<uint32_t>(count)});
    for (const Span& span : spans) key_.insert(key_.end(), {span.low, span.high, span.to});
    nfa_.budget().spend(key_.size());
    bool is_new = false;
    const uint32_t id = known_digits_.intern(key_, &is_new);
    if (!is_new) return digit_nodes_[id];
    const uint32_t node = nfa_.add_node();
    digit_nodes_.push_back(node);
    // The beginning of the low surrogate follows the high one.
    uint32_t from = node;
    if (all.size() == kPair.size() && count == kLowSurrogate) {
      from = nfa_.add_text(from, "\\u");
      const uint32_t next = nfa_.add_node();
      nfa_.add_bytes(from, 'D', 'D', next);
      nfa_.add_bytes(from, 'd', 'd', next);
      from = next;
    }
    uint32_t width = 1;
    for (size_t i = 0; i + 1 < count; ++i) width <<= all[i].bits;
    const Digit& digit = all[count - 1];
    for (uint32_t value = 0; value < 1u << digit.bits; ++value) {
      const uint32_t low = value * width, high = low + width - 1;
      std::vector<Span> part;
      for (const Span& span : spans) {
        if (span.high < low || span.low > high) continue;
        part.push_back({std::max(span.low, low) - low, std::min(span.high, high) - low, span.to});
      }
      if (part.empty()) continue;
      const uint32_t to = digits(part, all, count - 1);
      const uint32_t shown = value + digit.first;
      if (shown < 10) {
        nfa_.add_bytes(from, static_cast<uint8_t>('0' + shown), static_cast<uint8_t>('0' + shown),
                       to);
      } else {
        nfa_.add_bytes(from, static_cast<uint8_t>('A' + shown - 10),
                       static_cast<uint8_t>('A' + shown - 10), to);
        nfa_.add_bytes(from, static_cast<uint8_t>('a' + shown - 10),
                       static_cast<uint8_t>('a' + shown - 10), to);
      }
    }
    return node;
  }

  Nfa& nfa_;
  const Dfa& texts_;
  const JsonStringOptions& options_;
  std::vector<Ends> ends_;  // [states]
  std::vector<uint32_t> todo_;
  std::vector<std::array<uint32_t, 3>> inside_;  // [states] by remaining bytes of a character
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Span>> rests_;
  std::vector<uint32_t> key_;
  Interner known_digits_;
  std::vector<uint32_t> digit_nodes_;
  Interner known_escapes_;
  std::vector<uint32_t> escape_nodes_;
};

}  // namespace

void add_json_strings(Nfa& nfa, const Dfa& texts, uint32_t from, const JsonStringOptions& options,
                      const std::function<uint32_t(uint32_t label)>& to) {
  StringWriter(nfa, texts, options).run(from, to);
}

uint32_t shortest_spelling(std::string_view text) {
  uint32_t bytes = 2;
  for (const char c : text) {
    bool short_escape = false;
    for (const ShortEscape& known : kShortEscapes) short_escape |= known.code == c && c != '/';
    bytes += short_escape ? 2 : static_cast<uint8_t>(c) < 0x20 ? 6 : 1;
  }
  return bytes;
}

}  // namespace tenon::grammar
