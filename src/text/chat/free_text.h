// Text of any bytes up to the first of several stops, as a piece of an NFA.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "text/grammar/nfa.h"

namespace tenon {

/// Stop of free text.
struct FreeTextStop {
  static constexpr uint32_t kNowhere = UINT32_MAX;
  std::string bytes;
  uint32_t to;            ///< node after the stop; kNowhere forbids the bytes
  bool at_start = false;  ///< matches only at the beginning, after optional space
};

/// Adds bytes of 0..highest after `from`, up to and including the first stop. ends_at: node that
/// the text may lead to without a stop, at any point.
void add_free_text(grammar::Nfa& nfa, uint32_t from, std::span<const FreeTextStop> stops,
                   uint8_t highest, std::optional<uint32_t> ends_at = {});

/// Rule of free text up to and including a stop. known: cache of rules by stop.
uint32_t free_text_rule(grammar::Nfa& nfa, const std::string& stop, uint8_t highest,
                        std::map<std::string, uint32_t>& known);

}  // namespace tenon
