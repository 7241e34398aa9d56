#include "text/grammar/schema_pieces.h"

#include "text/grammar/json_strings.h"
#include "text/grammar/lark.h"

namespace tenon::grammar {
namespace {

// Maximum indentation in spaces: 16 levels of 2.
constexpr size_t kMostIndent = 32;

}  // namespace

void write_string(const Alternative& alternative, KeptParts& parts, Nfa& nfa) {
  const StringShape& shape = alternative.shape.string;
  const uint32_t rule = nfa.add_rule("");
  const uint32_t final = nfa.rule(rule).final;
  const uint32_t inside = nfa.add_text(nfa.rule(rule).start, "\"");
  if (alternative.texts) {
    JsonStringOptions options{.needed_escapes = true};
    const Action each{.kind = ActionKind::Within};
    if (alternative.counted) {
      nfa.rule(rule).counts = true;
      options.each = &each;
      options.limits = &alternative.counted->below;
    }
    add_json_strings(nfa, *alternative.texts, inside, options, [final](uint32_t) { return final; });
    return;
  }
  const auto minimum = static_cast<uint32_t>(shape.minimum);
  const bool open = shape.maximum >= kUnlimited;
  const Action count{.kind = ActionKind::CountUp,
                     .limit = open ? kUnlimited : static_cast<uint32_t>(shape.maximum),
                     .keep = open ? minimum : kUnlimited};
  const Action enough{.kind = ActionKind::AtLeast, .limit = minimum};
  nfa.rule(rule).counts = true;
  const auto all = parts.dfa("any text", nfa.budget(), [&] { return any_text(nfa.budget()); });
  add_json_strings(nfa, *all, inside, {.each = &count, .closing = &enough},
                   [final](uint32_t) { return final; });
}

void write_lark_string(std::string_view grammar, Nfa& nfa) {
  Nfa texts(nfa.budget());
  (void)read_lark(grammar, texts);
  const uint32_t rule = nfa.add_rule("");
  const uint32_t first = rule + 1;
  for (const NfaRule& each : texts.rules()) (void)nfa.add_rule(each.place);
  const uint32_t close = nfa.add_node();
  nfa.add_call(nfa.add_text(nfa.rule(rule).start, "\""), first, close);
  nfa.add_bytes(close, '"', '"', nfa.rule(rule).final);
  for (uint32_t i = 0; i < texts.rules().size(); ++i) {
    const Subsets subsets =
        make_deterministic(texts, texts.rules()[i].start, texts.rules()[i].final);
    const uint32_t final = nfa.rule(first + i).final;
    add_json_strings(nfa, subsets.dfa, nfa.rule(first + i).start,
                     {.needed_escapes = true, .calls = &subsets.specials, .first_rule = first},
                     [final](uint32_t) { return final; });
  }
}

void write_counted_number(const Dfa& texts, const std::vector<uint32_t>& below, Nfa& nfa) {
  const uint32_t rule = nfa.add_rule("");
  nfa.rule(rule).counts = true;
  std::vector<uint32_t> node(texts.size()), counted(texts.size(), kNoEdge);
  for (uint32_t& at : node) at = nfa.add_node();
  nfa.add_epsilon(nfa.rule(rule).start, node[texts.start]);
  for (uint32_t s = 0; s < texts.size(); ++s) {
    if (texts.label[s] != 0) nfa.add_epsilon(node[s], nfa.rule(rule).final);
    for (const ByteRange& range : texts.of(s)) {
      const bool digits = range.low >= '0' && range.high <= '9';
      if (digits && counted[range.to] == kNoEdge) {
        counted[range.to] = nfa.add_node();
        nfa.add_act(counted[range.to],
                    {.kind = ActionKind::Within, .limit = below[range.to], .soft = true},
                    node[range.to]);
      }
      nfa.add_bytes(node[s], range.low, range.high, digits ? counted[range.to] : node[range.to]);
    }
  }
}

void write_line(Nfa& nfa) {
  const uint32_t final = nfa.rule(nfa.add_rule("")).final;
  uint32_t node = nfa.add_text(nfa.rule(0).start, "\n");
  for (size_t i = 0; i < kMostIndent; ++i) {
    nfa.add_epsilon(node, final);
    node = nfa.add_text(node, " ");
  }
  nfa.add_epsilon(node, final);
}

}  // namespace tenon::grammar
