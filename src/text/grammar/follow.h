// FOLLOW sets (Aho, Lam, Sethi, Ullman, "Compilers", 4.4): which bytes can come after the end of a
// rule, or after an action, wherever the rule was called.
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
    uint8_t kinds = 0;  ///< of them (byte_kinds.h)
  };
  [[nodiscard]] const Bytes& after_rule(uint32_t rule) const { return after_rule_[rule]; }
  /// `special`: the number of a special edge that is an action.
  [[nodiscard]] const Bytes& after_action(uint32_t special) const { return after_action_[special]; }

 private:
  std::vector<Bytes> after_rule_;    // [rules]
  std::vector<Bytes> after_action_;  // [specials], empty for calls
};

}  // namespace tenon::grammar
