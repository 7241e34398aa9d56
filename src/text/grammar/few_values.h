// The values of a subschema that has few of them, listed: what arrays without equal elements need.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "text/grammar/dfa.h"

namespace tenon::grammar {

struct SchemaNode;

/// Values that can be listed.
struct FewValues {
  std::vector<std::string> strings;  ///< what they say
  struct Other {
    Dfa texts;         ///< null, a boolean, a number
    Dfa checked = {};  ///< further spellings, for documents only
  };
  std::vector<Other> others;
  [[nodiscard]] size_t size() const { return strings.size() + others.size(); }
};

/// The values of a node; nothing when they may be more than kMaxFewValues, or arrays or objects.
std::optional<FewValues> few_values(const SchemaNode& node, Budget& budget);
inline constexpr size_t kMaxFewValues = 256;
/// Adds the texts of an automaton; false when they may be more than kMaxFewValues.
bool add_few_words(const Dfa& dfa, Budget& budget, std::vector<std::string>& words);

}  // namespace tenon::grammar
