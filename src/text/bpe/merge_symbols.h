// Byte-pair encoding (Sennrich, Haddow, Birch 2016, arXiv 1508.07909): applies merges to a sequence
// of symbols in order of rank, in nearly linear time.
#pragma once

#include <cstdint>
#include <vector>

#include "text/bpe/merge_table.h"

namespace tenon {

/// Merges `symbols` in place: repeatedly the leftmost pair of the lowest rank, until no pair
/// merges. Short sequences are scanned. Long ones use a queue with about 20 bytes of scratch per
/// symbol: O(n log n) at worst, linear if each rank's pairs appear in order. Up to 2^31 - 2
/// symbols. Returns the number of pairs looked at, a measure of work.
uint64_t merge_symbols(const MergeTable& table, std::vector<Symbol>& symbols);

}  // namespace tenon
