// Units of weights for matrix instructions: 16 rows by 256 columns of codes, in the order in which
// the 32 lanes of a subgroup hold operand A of a 16 x 16 by 16 x 8 product (PTX ISA, mma.m16n8k16,
// fragments of A; wgmma takes the same per warp). A unit is four contiguous quarters of 64 columns,
// each a stage of a kernel's ring. Kernels are checked against this definition and its inverse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tenon::gpu {

inline constexpr uint32_t kUnitRows = 16;
inline constexpr uint32_t kUnitColumns = 256;
inline constexpr uint32_t kQuarterColumns = 64;
inline constexpr uint32_t kQuarterValues = kUnitRows * kQuarterColumns;
inline constexpr uint32_t kLanes = 32;
inline constexpr uint32_t kLoadBytes = 16;    ///< most bytes per lane
inline constexpr uint32_t kStepColumns = 16;  ///< per matrix instruction
inline constexpr uint32_t kStepValues = 8;    ///< of A per lane and instruction

/// Lane that multiplies a value, and its index among the lane's eight.
struct FragmentPlace {
  uint32_t lane;
  uint32_t value;
};

/// Place of row `row` and column `column` of a step, both below 16. Lane l holds rows l / 4 and l /
/// 4 + 8 in columns 2 (l % 4), the next, and both 8 further on.
constexpr FragmentPlace fragment_place(uint32_t row, uint32_t column) noexcept {
  const uint32_t lane = row % 8 * 4 + column % 8 / 2;
  return {lane, column % 2 + row / 8 * 2 + column / 8 * 4};
}

/// Bytes of a quarter's plane with `bits` bits per code: 1, 2, 4, 8 or 16.
constexpr uint32_t plane_bytes(uint32_t bits) noexcept { return kQuarterValues * bits / 8; }

/// Position of a code in its plane: 32-bit word and bit.
struct CodePlace {
  uint32_t word;
  uint32_t shift;
};

/// Place of row `row` and column `column` of a quarter. Planes are [loads][32 lanes][bytes of a
/// load]: a lane's part of a quarter, 4 * bits bytes, in loads of 16. Codes of a word are extracted
/// as pairs, a value in each half: word >> n & mask gives values 2 n / bits and the next, so a mask
/// and a shift make both operands of a paired instruction. With 4 bits, values 0 .. 7 are nibbles
/// 0, 4, 1, 5, 2, 6, 3, 7 of the word.
constexpr CodePlace code_place(uint32_t bits, uint32_t row, uint32_t column) noexcept {
  const uint32_t lane_bytes = plane_bytes(bits) / kLanes;
  const uint32_t load_bytes = lane_bytes < kLoadBytes ? lane_bytes : kLoadBytes;
  const uint32_t values_of_load = load_bytes * 8 / bits;
  const uint32_t values_of_word = 32 / bits;
  const FragmentPlace place = fragment_place(row, column % kStepColumns);
  const uint32_t value = column / kStepColumns * kStepValues + place.value;  // within the lane
  const uint32_t first = (value / values_of_load * kLanes + place.lane) * (load_bytes / 4);
  const uint32_t in_word = value % values_of_word;
  return {first + value % values_of_load / values_of_word, in_word % 2 * 16 + in_word / 2 * bits};
}

/// Packs codes [16, 64] into a plane [plane_bytes(bits) / 4]; drops bits above `bits`.
inline void pack_plane(uint32_t bits, std::span<const uint32_t, kQuarterValues> codes,
                       std::span<uint32_t> plane) noexcept {
  const uint32_t mask = (1u << bits) - 1;
  for (uint32_t& word : plane) word = 0;
  for (uint32_t i = 0; i < kQuarterValues; ++i) {
    const CodePlace place = code_place(bits, i / kQuarterColumns, i % kQuarterColumns);
    plane[place.word] |= (codes[i] & mask) << place.shift;
  }
}

/// Inverse of pack_plane(); the caller joins the planes of a code.
inline void unpack_plane(uint32_t bits, std::span<const uint32_t> plane,
                         std::span<uint32_t, kQuarterValues> codes) noexcept {
  const uint32_t mask = (1u << bits) - 1;
  for (uint32_t i = 0; i < kQuarterValues; ++i) {
    const CodePlace place = code_place(bits, i / kQuarterColumns, i % kQuarterColumns);
    codes[i] = plane[place.word] >> place.shift & mask;
  }
}

}  // namespace tenon::gpu
