// The pieces of a snapshot up to the first that is missing.
#pragma once

#include <cstdint>

namespace tenon {

/// Takes the pieces 0, 1, ... while take(index) returns true, and at most `count`. A snapshot says how many
/// pieces it has and not which: after a gap all later ones would be taken for those before them, so none is
/// asked for. Returns how many were taken.
template <typename Take>
uint64_t take_leading_pieces(uint64_t count, Take take) {
  uint64_t index = 0;
  while (index < count && take(index)) ++index;
  return index;
}

}  // namespace tenon
