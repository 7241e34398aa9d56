// Philox4x32-10, the counter-based random generator behind every draw. No state, no seeding policy.
#pragma once

#include <array>
#include <cstdint>

namespace tenon {

/// Ten rounds of Philox over a counter of 4 words with a key of 2 words (Salmon, Moraes, Dror,
/// Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011). The same arguments always give
/// the same four words. Pinned by the authors' known answers in philox_test.cpp.
constexpr std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                             std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    // The Weyl sequence of the key: the golden ratio and sqrt(3) - 1.
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// A number in [0, 1) with 53 random bits, for the draw at `position` of a sequence with `seed`.
/// stream: a different number per use at a position.
constexpr double uniform_at(uint64_t seed, uint64_t position, uint32_t stream = 0) {
  const auto words = philox4x32(
      {static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), stream, 0},
      {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const uint64_t bits = (uint64_t{words[1]} << 32 | words[0]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace tenon
