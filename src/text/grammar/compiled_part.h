// Parts of grammars that are compiled on their own: rules that are deterministic already. A part is
// linked into the NFA of each grammar that uses it, and may use others itself.
//
//   {"format": "date"}   a part of one rule, which imports the part of the format's strings
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "text/grammar/subset_construction.h"

namespace tenon::grammar {

struct CompiledRule {
  Dfa states;                              ///< label 1: the end
  std::vector<uint32_t> special_begin{0};  ///< [states + 1] into specials
  /// Act: an action of the rule. Call: a rule of the part, or beyond those an import.
  std::vector<Special> specials;
  std::vector<Action> actions;  ///< of the rule's own object, if of any
  std::optional<ObjectSpec> object;
  bool counts = false;
};

/// Immutable: share freely between threads.
struct CompiledPart {
  std::vector<CompiledRule> rules;  ///< the first one is the part's
  std::vector<std::shared_ptr<const CompiledPart>> imports;
  BudgetUse use;                          ///< cost of compiling it, imports included
  std::vector<Budget::Payment> payments;  ///< the same for all units together

  /// Without its imports.
  [[nodiscard]] size_t size_bytes() const;
};

/// A part in an NFA.
struct LinkedPart {
  std::shared_ptr<const CompiledPart> part;
  uint32_t first_rule = 0;        ///< of the NFA; the others of the part follow
  std::vector<uint32_t> imports;  ///< rules of the NFA
};

/// Rule 0 of an NFA and what it reaches.
CompiledPart compile_part(const Nfa& nfa);

}  // namespace tenon::grammar
