#include "weights/row_cache.h"

#include <algorithm>

namespace tenon {
namespace {

/// Spreads row numbers over sets: multiplicative hashing by 2^64 over the golden ratio (Knuth, The
/// Art of Computer Programming 3, 6.4).
uint64_t set_of(uint64_t row, uint64_t num_sets) {
  return (row * 0x9e3779b97f4a7c15u >> 32) * num_sets >> 32;
}

}  // namespace

uint64_t RowCache::ways_of(uint64_t most_rows) { return std::min(kWays, most_rows); }

// Places have 32-bit numbers, except kNoPlace.
uint64_t RowCache::places_of(uint64_t most_rows) {
  const uint64_t ways = ways_of(most_rows);
  return ways == 0 ? 0 : std::min<uint64_t>(most_rows, kNoPlace) / ways * ways;
}

uint64_t RowCache::memory_bytes(uint64_t most_rows, uint64_t row_bytes) {
  return places_of(most_rows) * bytes_of_row(row_bytes);
}

RowCache::RowCache(uint64_t most_rows, uint64_t row_bytes, const std::shared_ptr<System>& system)
    : row_bytes_(row_bytes),
      ways_(ways_of(most_rows)),
      entries_(places_of(most_rows)),
      rows_(system, entries_.size() * row_bytes, "row cache") {}

RowCache::Claim RowCache::claim(uint64_t row) noexcept {
  if (entries_.empty()) return {};
  const uint64_t first = set_of(row, entries_.size() / ways_) * ways_;
  uint64_t oldest = first;
  for (uint64_t place = first; place < first + ways_; ++place) {
    if (entries_[place].row == row) {
      entries_[place].claimed = ++now_;
      return {static_cast<uint32_t>(place), false};
    }
    if (entries_[place].claimed < entries_[oldest].claimed) oldest = place;
  }
  if (entries_[oldest].claimed > step_begin_) return {};
  entries_[oldest] = {row, ++now_};
  return {static_cast<uint32_t>(oldest), true};
}

}  // namespace tenon
