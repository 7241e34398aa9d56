// JSON Schema (draft 2020-12) into an NFA. What is supported stands in
// docs/structured-output.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "text/grammar/dfa.h"

namespace tenon::grammar {

/// An NFA, empty before, of all JSON texts that are valid, without white space around them.
/// Throws Error(Grammar) with the JSON pointer of what is wrong, impossible or not supported.
void read_schema(std::string_view text, Nfa& nfa);

/// Rules shared by several schemas of one NFA, each written once.
struct SharedRules {
  std::optional<uint32_t> line;       ///< a line's end and its indentation
  std::optional<uint32_t> any_value;  ///< rule of a schema that allows everything
  /// Strings by automaton and lengths; a pattern or format has one automaton.
  std::map<std::tuple<const Dfa*, uint64_t, uint64_t>, uint32_t> strings;
  std::map<std::vector<uint32_t>, uint32_t> numbers;  ///< by automaton
  std::vector<std::shared_ptr<const Dfa>> kept;       ///< keeps the keys of `strings` alive
};

/// The same as one more rule of an NFA, whose number is returned.
uint32_t add_schema(std::string_view text, Nfa& nfa, SharedRules& shared);

}  // namespace tenon::grammar
