// Ways in which folders pack small integers into bytes and words.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tenon::foreign {

/// Values first .. first + count - 1 of a stream: value k has the bits k * bits and up, lowest
/// first. Reads no byte beyond those that hold them.
inline void unpack_stream(const uint8_t* bytes, uint64_t first, uint64_t count, uint32_t bits,
                          uint8_t* out) noexcept {
  const uint32_t mask = (1u << bits) - 1u;
  if (bits == 4 && first % 2 == 0) {
    for (uint64_t i = 0; i < count; ++i) {
      out[i] = static_cast<uint8_t>(bytes[(first + i) / 2] >> (i % 2 * 4) & 15u);
    }
    return;
  }
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = (first + i) * bits;
    uint32_t value = bytes[at / 8] >> (at % 8);
    if (at % 8 + bits > 8) value |= static_cast<uint32_t>(bytes[at / 8 + 1]) << (8 - at % 8);
    out[i] = static_cast<uint8_t>(value & mask);
  }
}

/// Words of 32 bits of a row of `count` values, as a stream.
constexpr uint64_t stream_words(uint64_t count, uint32_t bits) noexcept {
  return (count * bits + 31) / 32;
}
/// Words of whole fields, with unused bits above them.
constexpr uint64_t field_words(uint64_t count, uint32_t bits) noexcept {
  const uint64_t fields = 32 / bits;
  return (count + fields - 1) / fields;
}

/// Value k of words with whole fields.
inline uint8_t field_at(const uint32_t* words, uint64_t k, uint32_t bits) noexcept {
  const uint64_t fields = 32 / bits;
  return static_cast<uint8_t>(words[k / fields] >> (k % fields * bits) & ((1u << bits) - 1u));
}

/// 32 values of `bits` words in planes: 3 = 2 + 1, 5 = 4 + 1, 6 = 4 + 2, 7 = 4 + 2 + 1 bits, low
/// plane first, each a stream.
inline void unpack_planes(const uint32_t* words, uint32_t bits, uint8_t* out) noexcept {
  std::memset(out, 0, 32);
  const auto* bytes = reinterpret_cast<const uint8_t*>(words);
  uint32_t shift = 0;
  for (const uint32_t plane : {8u, 4u, 2u, 1u}) {
    if ((bits & plane) == 0) continue;
    uint8_t part[32];
    unpack_stream(bytes, 0, 32, plane, part);
    for (int k = 0; k < 32; ++k) out[k] = static_cast<uint8_t>(out[k] | part[k] << shift);
    bytes += 4 * plane;
    shift += plane;
  }
}

}  // namespace tenon::foreign
