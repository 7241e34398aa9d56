// Rows of one table that were wanted lately, as many as there are places. Where rows come from and
// what their bytes mean is decided elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/system.h"

namespace tenon {

/// A set-associative cache (Smith 1982, "Cache Memories", ACM Computing Surveys 14): the number of a
/// row chooses a set, and in a set of up to eight places the row that was claimed longest ago makes
/// room. All memory is allocated by the constructor. One thread at a time, but for the bytes of
/// different places.
class RowCache {
 public:
  static constexpr uint32_t kNoPlace = UINT32_MAX;

  /// Up to seven of `most_rows` find no place where they do not fill sets. Throws NoMemory.
  RowCache(uint64_t most_rows, uint64_t row_bytes, const std::shared_ptr<System>& system);

  /// What a row takes, its bytes and the account of it.
  [[nodiscard]] static constexpr uint64_t bytes_of_row(uint64_t row_bytes) {
    return row_bytes + sizeof(Entry);
  }
  /// What a cache of `most_rows` takes.
  [[nodiscard]] static uint64_t memory_bytes(uint64_t most_rows, uint64_t row_bytes);

  /// From here on the rows that are claimed stay until the next call.
  void begin_step() noexcept { step_begin_ = ++now_; }
  struct Claim {
    uint32_t place = kNoPlace;  ///< kNoPlace: this step has claimed all places that it could have
    bool is_missing =
        true;  ///< its bytes are to be written; false: they are, or were claimed before
  };
  [[nodiscard]] Claim claim(uint64_t row) noexcept;
  /// The bytes of a place were not written.
  void forget(uint32_t place) noexcept { entries_[place] = {}; }

  /// [row_bytes]
  [[nodiscard]] std::span<std::byte> bytes(uint32_t place) const {
    return rows_.span().subspan(place * row_bytes_, row_bytes_);
  }
  [[nodiscard]] uint64_t num_places() const { return entries_.size(); }

 private:
  static constexpr uint64_t kWays = 8;
  static constexpr uint64_t kNoRow = UINT64_MAX;
  struct Entry {
    uint64_t row = kNoRow;
    uint64_t claimed = 0;  ///< when last
  };
  [[nodiscard]] static uint64_t ways_of(uint64_t most_rows);
  [[nodiscard]] static uint64_t places_of(uint64_t most_rows);

  uint64_t row_bytes_ = 0;
  uint64_t ways_ = 0;
  std::vector<Entry> entries_;  // [sets, ways]
  Buffer rows_;                 // [sets, ways, row_bytes]
  uint64_t now_ = 0;            // counts claims and steps
  uint64_t step_begin_ = 0;
};

}  // namespace tenon
