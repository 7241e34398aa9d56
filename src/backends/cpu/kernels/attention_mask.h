// Positions that a token attends to, for plans and kernels.
#pragma once

#include <cstdint>

#include "tenon/backend.h"

namespace tenon::cpu {

/// Positions [first, end).
struct SeenPositions {
  uint32_t first, end;
};

/// Positions seen by a token at position `own` under a mask (tenon/backend.h, TENON_MASK_*).
/// Neither end decreases from one token of a sequence to the next.
///   positions  of the sequence in the group: SYMMETRIC, CROSS
constexpr SeenPositions seen_positions(uint32_t mask, uint32_t window, uint32_t own,
                                       uint32_t positions) {
  if (mask == TENON_MASK_CAUSAL) {
    return {window > 0 && own >= window ? own - window + 1 : 0, own + 1};
  }
  if (mask == TENON_MASK_CHUNKED) return {own - own % window, own + 1};
  if (mask == TENON_MASK_CROSS || window == 0) return {0, positions};
  const uint32_t reach = window / 2;
  const bool to_the_end = positions - own <= reach;
  return {own > reach ? own - reach : 0, to_the_end ? positions : own + reach + 1};
}

}  // namespace tenon::cpu
