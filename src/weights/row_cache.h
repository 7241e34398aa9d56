// Cache of a table's recently used rows, of fixed capacity. Callers fetch rows and define their
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/system.h"

namespace tenon {

/// A set-associative cache (Smith 1982, "Cache Memories", ACM Computing Surveys 14). The row's
/// number selects a set of up to eight places, in which the least recently claimed row is evicted.
/// All memory is allocated by the constructor. One thread at a time, except for the bytes of
/// different places.
class RowCache {
 public:
  static constexpr uint32_t kNoPlace = UINT32_MAX;

  /// Rounds `most_rows` down to whole sets, by up to seven rows. Throws NoMemory.
  RowCache(uint64_t most_rows, uint64_t row_bytes, const std::shared_ptr<System>& system);

  /// Memory per row: its bytes and its entry.
  [[nodiscard]] static constexpr uint64_t bytes_of_row(uint64_t row_bytes) {
    return row_bytes + sizeof(Entry);
  }
  /// Memory of a cache of `most_rows`.
  [[nodiscard]] static uint64_t memory_bytes(uint64_t most_rows, uint64_t row_bytes);

  /// Starts a step: rows claimed from now on stay until the next call.
  void begin_step() noexcept { step_begin_ = ++now_; }
  struct Claim {
    uint32_t place = kNoPlace;  ///< kNoPlace: the step has claimed all places of the set
    /// The bytes must be written; false if they are present, or were claimed before.
    bool is_missing = true;
  };
  [[nodiscard]] Claim claim(uint64_t row) noexcept;
  /// Marks the bytes of a place as not written.
  void forget(uint32_t place) noexcept { entries_[place] = {}; }

  /// Bytes of a place, [row_bytes].
  [[nodiscard]] std::span<std::byte> bytes(uint32_t place) const {
    return rows_.span().subspan(place * row_bytes_, row_bytes_);
  }
  [[nodiscard]] uint64_t num_places() const { return entries_.size(); }

 private:
  static constexpr uint64_t kWays = 8;
  static constexpr uint64_t kNoRow = UINT64_MAX;
  struct Entry {
    uint64_t row = kNoRow;
    uint64_t claimed = 0;  ///< time of the last claim
  };
  [[nodiscard]] static uint64_t ways_of(uint64_t most_rows);
  [[nodiscard]] static uint64_t places_of(uint64_t most_rows);

  uint64_t row_bytes_ = 0;
  uint64_t ways_ = 0;
  std::vector<Entry> entries_;  // [sets, ways]
  Buffer rows_;                 // [sets, ways, row_bytes]
  uint64_t now_ = 0;            // clock: counts claims and steps
  uint64_t step_begin_ = 0;
};

}  // namespace tenon
