// FOLLOW sets (Aho, Lam, Sethi, Ullman, "Compilers", 4.4): the bytes that can follow the end of a
// rule, or an action, at any call of the rule.
//
//   list = "[" item ("," item)* "]": after rule item come , and ]
#pragma once

#include <vector>

#include "text/grammar/automaton.h"
#include "text/grammar/byte_kinds.h"

namespace tenon::grammar {

class FollowBytes {
 public:
  explicit FollowBytes(const Automaton& automaton);

  struct Bytes {
    ByteSet set;
    uint8_t kinds = 0;  ///< kinds of these bytes (byte_kinds.h)
  };
  [[nodiscard]] const Bytes& after_rule(uint32_t rule) const { return after_rule_[rule]; }
  /// special: number of a special edge that is an action.
  [[nodiscard]] const Bytes& after_action(uint32_t special) const { return after_action_[special]; }

 private:
  std::vector<Bytes> after_rule_;    // [rules]
  std::vector<Bytes> after_action_;  // [specials], empty for calls
};

}  // namespace tenon::grammar
