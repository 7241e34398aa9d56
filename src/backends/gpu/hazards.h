// Where in a list of stages a barrier has to stand: before a stage that reads what another wrote since the
// last barrier, or writes what another read or wrote.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::gpu {

/// Bytes [begin, end) that a stage reads or writes, in any numbering that gives memory of its own to what
/// is apart.
struct Extent {
  uint64_t begin;
  uint64_t end;
};

class Hazards {
 public:
  /// Takes the next stage; whether a barrier must stand before it.
  bool needs_barrier(std::span<const Extent> reads, std::span<const Extent> writes) {
    const bool needs =
        overlap(reads, written_) || overlap(writes, written_) || overlap(writes, read_);
    if (needs) {
      read_.clear();
      written_.clear();
    }
    read_.insert(read_.end(), reads.begin(), reads.end());
    written_.insert(written_.end(), writes.begin(), writes.end());
    return needs;
  }

 private:
  static bool overlap(std::span<const Extent> some, std::span<const Extent> others) {
    for (const Extent& a : some) {
      for (const Extent& b : others) {
        if (a.begin < b.end && b.begin < a.end) return true;
      }
    }
    return false;
  }

  // Since the last barrier.
  std::vector<Extent> read_;
  std::vector<Extent> written_;
};

}  // namespace tenon::gpu
