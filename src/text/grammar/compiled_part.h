// Separately compiled parts of grammars: rules that are already deterministic. Each grammar links
// the parts that it uses into its NFA; parts may use other parts.
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
  Dfa states;                              ///< label 1 marks the end
  std::vector<uint32_t> special_begin{0};  ///< [states + 1] into specials
  /// Act: action of the rule. Call: rule of the part, or an import if beyond the rules.
  std::vector<Special> specials;
  std::vector<Action> actions;  ///< actions on the rule's own object, if any
  std::optional<ObjectSpec> object;
  bool counts = false;
};

/// Immutable: share freely between threads.
struct CompiledPart {
  std::vector<CompiledRule> rules;  ///< the first rule is the part's entry
  std::vector<std::shared_ptr<const CompiledPart>> imports;
  BudgetUse use;                          ///< cost of compiling it, imports included
  std::vector<Budget::Payment> payments;  ///< payments for all units together

  /// Size without imports.
  [[nodiscard]] size_t size_bytes() const;
};

/// Part linked into an NFA.
struct LinkedPart {
  std::shared_ptr<const CompiledPart> part;
  uint32_t first_rule = 0;        ///< rule of the NFA; the part's other rules follow
  std::vector<uint32_t> imports;  ///< rules of the NFA
};

/// Compiles rule 0 of an NFA and the rules it reaches.
CompiledPart compile_part(const Nfa& nfa);

}  // namespace tenon::grammar
