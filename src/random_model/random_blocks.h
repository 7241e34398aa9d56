// Encoded random weights in any amount: a bank of blocks is encoded once and copied in random
// order, since encoding is a thousand times slower than copying.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "quant/formats.h"

namespace tenon {

/// SplitMix64 (Steele, Lea, Flood 2014): fast, and equal on all machines.
class SplitMix {
 public:
  explicit constexpr SplitMix(uint64_t seed) : state_(seed) {}
  constexpr uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Approximately N(0, 1): a sum of eight uniform integers, so the bits depend on no library.
  float normal();

 private:
  uint64_t state_;
};

class RandomBlocks {
 public:
  /// Values have mean 0 and the given standard deviation. The format must have an encoder.
  RandomBlocks(const FormatInfo& format, float deviation, uint64_t seed);

  /// Fills `out`, whole blocks, with blocks of the bank chosen by `random`.
  void fill(SplitMix& random, std::span<std::byte> out) const;

 private:
  uint32_t block_bytes_;
  uint64_t run_bytes_;   // bytes copied at once
  uint64_t num_starts_;  // blocks at which a run may start
  std::vector<std::byte> bank_;
};

}  // namespace tenon
