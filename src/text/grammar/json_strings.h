// How texts are written as JSON strings: an automaton over the characters of a text becomes edges
// over the bytes of all its spellings, raw and with escapes.
#pragma once

#include <functional>

#include "text/grammar/dfa.h"

namespace tenon::grammar {

struct JsonStringOptions {
  /// Passed after each character; null: nothing is.
  const Action* each = nullptr;
  /// [states of the texts] limit of `each` before the character that leads to the state; null: the
  /// limit in `each`.
  const std::vector<uint32_t>* limits = nullptr;
  const Action* closing = nullptr;  ///< before the closing quote
  bool needed_escapes = false;      ///< no others: each text has one spelling
};

/// From `from`, after the opening quote, over the rest of each string whose text has a label in
/// `texts`, the closing quote included, to the node `to(label)`.
void add_json_strings(Nfa& nfa, const Dfa& texts, uint32_t from, const JsonStringOptions& options,
                      const std::function<uint32_t(uint32_t label)>& to);

/// Bytes of the shortest spelling of a text, quotes included.
uint32_t shortest_spelling(std::string_view text);

}  // namespace tenon::grammar
