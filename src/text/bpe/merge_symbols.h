// The merging of byte-pair encoding (Sennrich, Haddow, Birch 2016, arXiv 1508.07909): applies
// merges to a sequence of symbols in order of rank, in time close to linear.
#pragma once

#include <cstdint>
#include <vector>

#include "text/bpe/merge_table.h"

namespace tenon {

/// Merges `symbols` in place: repeatedly the leftmost pair of the lowest rank, until no pair
/// merges. Short sequences are scanned; long ones use a queue, O(n log n) at worst and linear where
/// each rank's pairs appear in order, with about 20 bytes of scratch per symbol. Up to 2^31 - 2
/// symbols. Returns how many pairs it looked at, a measure of the work.
uint64_t merge_symbols(const MergeTable& table, std::vector<Symbol>& symbols);

}  // namespace tenon
