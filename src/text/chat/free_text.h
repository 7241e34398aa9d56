// Text of any bytes up to the first of given ones, as a piece of an NFA.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "text/grammar/nfa.h"

namespace tenon {

/// Where free text ends.
struct FreeTextStop {
  static constexpr uint32_t kNowhere = UINT32_MAX;
  std::string bytes;
  uint32_t to;            ///< the node after it; kNowhere: the text must not hold the bytes
  bool at_start = false;  ///< only at the very beginning, but for space before it
};

/// Adds bytes of 0..highest after `from`, up to and with the first stop. ends_at: the text may
/// also end without one, anywhere; it leads there.
void add_free_text(grammar::Nfa& nfa, uint32_t from, std::span<const FreeTextStop> stops,
                   uint8_t highest, std::optional<uint32_t> ends_at = {});

/// Rule of free text up to and including a stop. known: rules by stop.
uint32_t free_text_rule(grammar::Nfa& nfa, const std::string& stop, uint8_t highest,
                        std::map<std::string, uint32_t>& known);

}  // namespace tenon
