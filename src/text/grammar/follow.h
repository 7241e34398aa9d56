// Which bytes can come behind the end of a rule, or behind an action, wherever the rule was called.
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
  [[nodiscard]] const Bytes& behind_rule(uint32_t rule) const { return behind_rule_[rule]; }
  /// `special`: the number of a special edge that is an action.
  [[nodiscard]] const Bytes& behind_action(uint32_t special) const {
    return behind_action_[special];
  }

 private:
  std::vector<Bytes> behind_rule_;    // [rules]
  std::vector<Bytes> behind_action_;  // [specials], empty for calls
};

}  // namespace tenon::grammar
