// Writes texts as JSON strings: converts an automaton over characters to edges over the bytes of
// all spellings, raw and escaped.
#pragma once

#include <functional>

#include "text/grammar/subset_construction.h"

namespace tenon::grammar {

struct JsonStringOptions {
  /// Action after each character; may be null.
  const Action* each = nullptr;
  /// [states of the texts] limit of `each` before the character that leads to the state. May be
  /// null: then `each` has the limit.
  const std::vector<uint32_t>* limits = nullptr;
  const Action* closing = nullptr;  ///< action before the closing quote; may be null
  bool needed_escapes = false;      ///< only necessary escapes: each text has a single spelling
  /// [states of the texts] calls between characters, of rules that are the NFA's from `first_rule`
  /// on; no quote closes the text. May be null.
  const std::vector<std::vector<Special>>* calls = nullptr;
  uint32_t first_rule = 0;
};

/// Adds edges from `from`, after the opening quote, to `to(label)`, after the closing quote, for
/// each string whose text has a label in `texts`.
void add_json_strings(Nfa& nfa, const Dfa& texts, uint32_t from, const JsonStringOptions& options,
                      const std::function<uint32_t(uint32_t label)>& to);

/// Bytes of the shortest spelling, quotes included.
uint32_t shortest_spelling(std::string_view text);

}  // namespace tenon::grammar
