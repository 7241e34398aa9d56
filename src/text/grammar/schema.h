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

/// Rules that several schemas of one NFA have in common: each is written once.
struct SharedRules {
  std::optional<uint32_t> line;       ///< a line's end and its indentation
  std::optional<uint32_t> any_value;  ///< of a schema that allows all
  /// Strings, by automaton and lengths; those of one pattern or format have one automaton.
  std::map<std::tuple<const Dfa*, uint64_t, uint64_t>, uint32_t> strings;
  std::map<std::vector<uint32_t>, uint32_t> numbers;  ///< by their automaton
  std::vector<std::shared_ptr<const Dfa>> kept;       ///< what `strings` points to
};

/// The same as one more rule of an NFA, whose number is returned.
uint32_t add_schema(std::string_view text, Nfa& nfa, SharedRules& shared);

}  // namespace tenon::grammar
