// Pieces of a snapshot before the first missing piece.
#pragma once

#include <cstdint>

namespace tenon {

/// Calls take(0), take(1), ... until one returns false, at most `count` times. A snapshot stores
/// only the number of its pieces, so pieces after a gap would be misplaced. Returns the number
/// taken.
template <typename Take>
uint64_t take_leading_pieces(uint64_t count, Take take) {
  uint64_t index = 0;
  while (index < count && take(index)) ++index;
  return index;
}

}  // namespace tenon
