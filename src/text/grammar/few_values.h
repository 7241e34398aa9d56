// Lists the values of a subschema that has few of them, for arrays with uniqueItems.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "text/grammar/dfa.h"

namespace tenon::grammar {

struct SchemaNode;

/// Enumerable values.
struct FewValues {
  std::vector<std::string> strings;  ///< decoded texts
  struct Other {
    Dfa texts;         ///< null, booleans and numbers
    Dfa checked = {};  ///< further spellings, accepted in documents only
  };
  std::vector<Other> others;
  [[nodiscard]] size_t size() const { return strings.size() + others.size(); }
};

/// Values of a node; empty if they may be more than kMaxFewValues, or arrays or objects.
std::optional<FewValues> few_values(const SchemaNode& node, Budget& budget);
inline constexpr size_t kMaxFewValues = 256;
/// Adds the texts of an automaton; false if they may be more than kMaxFewValues.
bool add_few_words(const Dfa& dfa, Budget& budget, std::vector<std::string>& words);

}  // namespace tenon::grammar
