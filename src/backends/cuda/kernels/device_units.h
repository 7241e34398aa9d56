// A quarter of a unit of weights (gpu/weight_units.h) in shared memory: decodes a lane's codes
// exactly into operand A of matrix instructions, and the scales of its rows, lane / 4 and lane / 4
// + 8, which multiply sums.
#pragma once

#include "backends/cuda/kernels/device_half.h"
#include "backends/cuda/kernels/device_mma.h"
#include "backends/gpu/weight_units.h"

namespace tenon::cuda {

template <typename T>
TENON_DEVICE const T& shared_at(const char* at) {
  return *reinterpret_cast<const T*>(at);
}
TENON_DEVICE float shared_half(const char* at) { return half_to_float(shared_at<uint16_t>(at)); }

/// Turns two codes below 1024, the halves of a word, into f16: 0x6400 | code is 1024 + code.
TENON_DEVICE uint codes_to_halves(uint codes, uint zero_code) {
  return subtract_pairs(codes | 0x64006400u, 0x64006400u + zero_code * 0x00010001u);
}

/// Factors of sums over the columns of a group, per row, and the minima, which multiply the sum of
/// x.
struct GroupScales {
  float scale[2];
  float minimum[2];
};

/// Byte layout of a format.
template <Format number>
struct UnitBytes {
  static constexpr Format kFormat = number;
  static constexpr uint kHead = gpu::unit_layout(number).head_bytes;
  static constexpr uint kLowPlane = gpu::plane_bytes(gpu::unit_layout(number).low_bits);
  static constexpr uint kScales = kLowPlane + gpu::plane_bytes(gpu::unit_layout(number).high_bits);
  static constexpr uint kQuarter = gpu::unit_layout(number).quarter_bytes();
  static constexpr uint kUnit = gpu::unit_layout(number).unit_bytes();
};

/// Columns of x in a lane's load of 16 bytes: two steps (matrix instructions).
inline constexpr uint kLoadColumns = 32;
inline constexpr uint kLoadsOfQuarter = gpu::kQuarterColumns / kLoadColumns;
inline constexpr uint kStepsOfLoad = 2;
/// Bytes of x per step: two core matrices.
inline constexpr uint kStepBytes = 2 * 8 * 16;

// Each format defines
//   kGroupsOfLoad  groups of columns with a scale per load; 0: no scales
//   kHasMinima
// and is constructed from a quarter, its unit's head and the index of a load in it:
//   codes   operand A of a step of the load
//   scales  of a group of the load
struct UnitsF16 : UnitBytes<Format::F16> {
  static constexpr uint kGroupsOfLoad = 0;
  static constexpr bool kHasMinima = false;
  Words4 steps[kStepsOfLoad];

  TENON_DEVICE UnitsF16(const char*, const char* quarter, uint load) {
    for (uint i = 0; i < kStepsOfLoad; ++i) {
      steps[i] = shared_at<Words4>(quarter + ((load * kStepsOfLoad + i) * kWarp + lane()) * 16);
    }
  }
  TENON_DEVICE void codes(uint step, uint (&a)[4]) const {
    for (uint i = 0; i < 4; ++i) a[i] = steps[step].at[i];
  }
  TENON_DEVICE GroupScales scales(uint) const { return {}; }
};

struct UnitsQ8_0 : UnitBytes<Format::Q8_0> {
  static constexpr uint kGroupsOfLoad = 1;
  static constexpr bool kHasMinima = false;
  Words4 words;
  float scale[2];

  TENON_DEVICE UnitsQ8_0(const char*, const char* quarter, uint load)
      : words(shared_at<Words4>(quarter + (load * kWarp + lane()) * 16)) {
    for (uint i = 0; i < 2; ++i) {
      const uint row = lane() / 4 + 8 * i;
      scale[i] = shared_half(quarter + kScales + (row * 2 + load) * 2);
    }
  }
  TENON_DEVICE void codes(uint step, uint (&a)[4]) const {
    for (uint i = 0; i < 4; ++i) {
      a[i] = codes_to_halves(words.at[step * 2 + i / 2] >> i % 2 * 8 & 0x00FF00FFu, 128);
    }
  }
  TENON_DEVICE GroupScales scales(uint) const { return {{scale[0], scale[1]}, {}}; }
};

struct UnitsQ4_K : UnitBytes<Format::Q4_K> {
  static constexpr uint kGroupsOfLoad = 1;
  static constexpr bool kHasMinima = true;
  Words2 words;
  GroupScales group;

  TENON_DEVICE UnitsQ4_K(const char* head, const char* quarter, uint load)
      : words(shared_at<Words2>(quarter + lane() * 16 + load * 8)) {
    for (uint i = 0; i < 2; ++i) {
      const uint row = lane() / 4 + 8 * i;
      const uint factors = shared_at<uint>(head + row * 4);  // d and dmin
      const uint bytes = shared_at<uint16_t>(quarter + kScales + (row * 2 + load) * 2);
      group.scale[i] = half_to_float(factors & 0xFFFFu) * float(bytes & 255u);
      group.minimum[i] = half_to_float(factors >> 16) * float(bytes >> 8);
    }
  }
  TENON_DEVICE void codes(uint step, uint (&a)[4]) const {
    for (uint i = 0; i < 4; ++i) {
      a[i] = codes_to_halves(words.at[step] >> i * 4 & 0x000F000Fu, 0);
    }
  }
  TENON_DEVICE GroupScales scales(uint) const { return group; }
};

struct UnitsQ6_K : UnitBytes<Format::Q6_K> {
  static constexpr uint kGroupsOfLoad = 2;
  static constexpr bool kHasMinima = false;
  Words2 low;
  uint high;
  float d[2];
  uint bytes[2];  // scales of two groups

  TENON_DEVICE UnitsQ6_K(const char* head, const char* quarter, uint load)
      : low(shared_at<Words2>(quarter + lane() * 16 + load * 8)),
        high(shared_at<uint>(quarter + kLowPlane + lane() * 8 + load * 4)) {
    for (uint i = 0; i < 2; ++i) {
      const uint row = lane() / 4 + 8 * i;
      d[i] = shared_half(head + row * 2);
      bytes[i] = shared_at<uint16_t>(quarter + kScales + row * 4 + load * 2);
    }
  }
  TENON_DEVICE void codes(uint step, uint (&a)[4]) const {
    for (uint i = 0; i < 4; ++i) {
      const uint fours = low.at[step] >> i * 4 & 0x000F000Fu;
      const uint twos = high >> (step * 4 + i) * 2 & 0x00030003u;
      a[i] = codes_to_halves(fours | twos << 4, 32);
    }
  }
  TENON_DEVICE GroupScales scales(uint number) const {
    return {{d[0] * signed_byte_from(bytes[0], number * 8),
             d[1] * signed_byte_from(bytes[1], number * 8)},
            {}};
  }
};

/// Loads operand B of a load's steps from core matrices, two per step.
///   x  the first core matrix
template <uint kSteps>
TENON_DEVICE void load_x(uint (&b)[kSteps][2], const char* x) {
  uint words[2 * kSteps];
  load_matrices(words, x + lane() * 16);
  TENON_UNROLL
  for (uint i = 0; i < kSteps; ++i) {
    b[i][0] = words[2 * i];
    b[i][1] = words[2 * i + 1];
  }
}

/// sums += weights x over 32 columns. All lanes of a warp call it. Addends and their order depend
/// on the row and the columns only: with scales, a group's product sum, from zero, times its scale.
///   weights   [kTiles] tiles of 16 rows
///   x         [kRows] tiles of 8 rows of x, a quarter each, kRowQuarterBytes apart
///   load      index in the quarter
///   sums      [kTiles][kRows], each in the layout of multiply_add()
template <typename Format, uint kTiles, uint kRows>
TENON_DEVICE void multiply_load(const Format (&weights)[kTiles], const char* x, uint load,
                                float (&sums)[kTiles][kRows][4]) {
  constexpr uint kSteps = Format::kGroupsOfLoad == kStepsOfLoad ? 1 : kStepsOfLoad;  // at a time
  TENON_UNROLL
  for (uint first = 0; first < kStepsOfLoad; first += kSteps) {
    if (first > 0)
      warp_barrier();  // keeps the compiler from merging both, which needs too many registers
    uint a[kTiles][kSteps][4];
    TENON_UNROLL
    for (uint tile = 0; tile < kTiles; ++tile) {
      for (uint i = 0; i < kSteps; ++i) weights[tile].codes(first + i, a[tile][i]);
    }
    TENON_UNROLL
    for (uint rows = 0; rows < kRows; ++rows) {
      if (kSteps == 1 && rows > 0 && rows % 4 == 0) warp_barrier();  // as above
      const char* quarter = x + rows * gpu::kRowQuarterBytes;
      uint b[kSteps][2];
      load_x(b, quarter + (load * kStepsOfLoad + first) * kStepBytes);
      TENON_UNROLL
      for (uint tile = 0; tile < kTiles; ++tile) {
        float(&own)[4] = sums[tile][rows];
        if constexpr (Format::kGroupsOfLoad == 0) {
          for (uint i = 0; i < kSteps; ++i) multiply_add(own, a[tile][i], b[i]);
          continue;
        }
        float products[4] = {0, 0, 0, 0};
        for (uint i = 0; i < kSteps; ++i) multiply_add(products, a[tile][i], b[i]);
        const GroupScales s = weights[tile].scales(first / kSteps);
        for (uint i = 0; i < 4; ++i) own[i] = fused(products[i], s.scale[i / 2], own[i]);
        if constexpr (Format::kHasMinima) {
          const Floats2 of_x =
              shared_at<Floats2>(quarter + gpu::kRowFragmentBytes + load * 32 + lane() % 4 * 8);
          for (uint i = 0; i < 4; ++i) own[i] = fused(-s.minimum[i / 2], of_x.at[i % 2], own[i]);
        }
      }
    }
  }
}

}  // namespace tenon::cuda
