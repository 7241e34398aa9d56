// How kernels read units of the codebook formats (kernel_integer.h says what a unit type offers,
// panels.h how the bytes lie). Included by kernels_<isa>.cpp after vec.h.
//
// Levels with their signs are codes of up to four bits, and a table of 16 turns them into bytes.
#pragma once

#include "backends/cpu/unit_integers.h"
#include "quant/iq2_s_grid.h"
#include "quant/iq2_xs_grid.h"
#include "quant/iq2_xxs_grid.h"
#include "quant/iq3_s_grid.h"
#include "quant/iq3_xxs_grid.h"

namespace tenon::cpu::TENON_CPU_ISA {

/// Nibble `index` of a byte per row.
inline I32x16 nibble(const uint8_t* bytes, uint32_t index) {
  return bit_and(shift_right(load_u8_as_i32(bytes), static_cast<int>(4 * index)),
                 broadcast_i32(15));
}

/// Code level | sign << sign_bit as a byte.
template <size_t kLevels>
constexpr Bytes16 signed_levels(const int8_t (&levels)[kLevels], int sign_bit, int bias) {
  Bytes16 table{};
  for (int code = 0; code < 16; ++code) {
    const int level = code & ((1 << sign_bit) - 1);
    if (level >= static_cast<int>(kLevels) || code >> (sign_bit + 1) != 0) continue;
    const int value = code >> sign_bit != 0 ? -levels[level] : levels[level];
    table.v[code] = static_cast<uint8_t>(value + bias);
  }
  return table;
}

/// What all units of 256 values with an f16 d have: scale code c stands for (2 c + 1) steps of d.
template <int kByteBias>
struct CodebookUnit {
  static constexpr int kBias = kByteBias;
  static constexpr bool kHasOffset = false;
  static constexpr uint32_t kBlocks = 8;
  const uint8_t* bytes;
  F32x16 step, double_step;
  CodebookUnit(const uint8_t* unit, float steps)
      : bytes(unit),
        step(mul(half_vector(unit, 0), broadcast(steps))),
        double_step(add(step, step)) {}
  /// Exact: an f16 times at most 31.
  [[nodiscard]] F32x16 scale_of(I32x16 code) const { return fma(double_step, to_f32(code), step); }
  /// Nibble `index` behind the d.
  [[nodiscard]] I32x16 nibble_at(uint32_t index) const {
    return nibble(bytes + (2 + index / 2) * kRows, index % 2);
  }
};

// ---- iq2 ---------------------------------------------------------------------------------------

inline constexpr int kIq2Bias = 43;
static_assert(kIq2XxsLevels[2] == kIq2Bias && kIq2XsLevels[2] == kIq2Bias &&
              kIq2SLevels[2] == kIq2Bias);
inline constexpr Bytes16 kIq2Table = signed_levels(kIq2SLevels, 2, kIq2Bias);
static_assert(kIq2XxsLevels[0] == kIq2SLevels[0] && kIq2XxsLevels[1] == kIq2SLevels[1] &&
              kIq2XsLevels[0] == kIq2SLevels[0] && kIq2XsLevels[1] == kIq2SLevels[1]);

/// 3-bit codes, a nibble of scale for each kGroupValues values.
template <uint32_t kGroupValues>
struct Iq2Unit : CodebookUnit<kIq2Bias> {
  using Weights = Unsigned<2 * kIq2Bias>;
  static constexpr uint32_t kGroup = kGroupValues;
  static constexpr uint64_t kHead = (2 + 128 / kGroup) * kRows;
  static constexpr uint64_t kBytes = kHead + kBlocks * Plain3::kBytes;
  explicit Iq2Unit(const uint8_t* unit) : CodebookUnit(unit, 0.125f) {}
  [[nodiscard]] F32x16 scale(uint32_t group) const { return scale_of(nibble_at(group)); }
  template <typename Use>
  void each(uint32_t b, Use use) const {
    Plain3::each(bytes + kHead + b * Plain3::kBytes,
                 [&](auto g, U8x64 codes) { use(g, lookup(codes, kIq2Table)); });
  }
};

// ---- iq3 ---------------------------------------------------------------------------------------

inline constexpr int kIq3XxsBias = 62;
inline constexpr Bytes16 kIq3XxsTable = signed_levels(kIq3XxsLevels, 3, kIq3XxsBias);
inline constexpr int kIq3SBias = 15;
inline constexpr Bytes16 kIq3STable = signed_levels(kIq3SLevels, 3, kIq3SBias);
static_assert(kIq3XxsLevels[7] == kIq3XxsBias && kIq3SLevels[7] == kIq3SBias);

/// 4-bit codes, a nibble of scale for each 32 values; kSteps is of d.
template <const Bytes16& kTable, int kByteBias, int kSteps>
struct Iq3Unit : CodebookUnit<kByteBias> {
  using Weights = Unsigned<2 * kByteBias>;
  static constexpr uint32_t kGroup = 32;
  static constexpr uint64_t kHead = 6 * kRows;
  static constexpr uint64_t kBytes = kHead + 8 * Coded4<kTable>::kBytes;
  explicit Iq3Unit(const uint8_t* unit)
      : CodebookUnit<kByteBias>(unit, 1.0f / static_cast<float>(kSteps)) {}
  [[nodiscard]] F32x16 scale(uint32_t b) const { return this->scale_of(this->nibble_at(b)); }
  template <typename Use>
  void each(uint32_t b, Use use) const {
    Coded4<kTable>::each(this->bytes + kHead + b * Coded4<kTable>::kBytes, use);
  }
};
using Iq3XxsUnit = Iq3Unit<kIq3XxsTable, kIq3XxsBias, 4>;
using Iq3SUnit = Iq3Unit<kIq3STable, kIq3SBias, 1>;

// ---- iq1: levels 0..2 stand for -1, 0, 1, to which an eighth is added or taken away ------------

struct Iq1SUnit : CodebookUnit<0> {
  using Weights = Unsigned<2>;
  static constexpr bool kHasOffset = true;
  static constexpr uint32_t kGroup = 32;
  static constexpr uint64_t kHead = 6 * kRows;
  static constexpr uint64_t kBytes = kHead + kBlocks * Plain2::kBytes;
  explicit Iq1SUnit(const uint8_t* unit) : CodebookUnit(unit, 1.0f) {}
  [[nodiscard]] F32x16 scale(uint32_t b) const {
    return scale_of(bit_and(nibble_at(b), broadcast_i32(7)));
  }
  /// The byte is one more than the level; bit 3 says whether the eighth is taken away.
  [[nodiscard]] F32x16 offset(uint32_t b, F32x16 scale) const {
    const F32x16 negative = to_f32(shift_right(nibble_at(b), 3));
    return mul(scale, fma(negative, broadcast(-0.25f), broadcast(-0.875f)));
  }
  template <typename Use>
  void each(uint32_t b, Use use) const {
    Plain2::each(bytes + kHead + b * Plain2::kBytes, use);
  }
};

/// Eight times the weight as bytes: 8 level + 2, but 8 level for a negative eighth.
inline constexpr int kIq1MBias = 9;

/// Twice bit kBit of a nibble.
template <int kBit>
inline constexpr Bytes16 kTwoOfBit = [] {
  Bytes16 table{};
  for (int nibble = 0; nibble < 16; ++nibble) {
    table.v[nibble] = static_cast<uint8_t>((nibble >> kBit & 1) * 2);
  }
  return table;
}();

struct Iq1MUnit : CodebookUnit<kIq1MBias> {
  using Weights = Unsigned<2 * kIq1MBias>;
  static constexpr uint32_t kGroup = 16;
  static constexpr uint64_t kHead = 14 * kRows;
  static constexpr uint64_t kBytes = kHead + kBlocks * Plain2::kBytes;
  explicit Iq1MUnit(const uint8_t* unit) : CodebookUnit(unit, 0.125f) {}
  [[nodiscard]] F32x16 scale(uint32_t group) const { return scale_of(nibble_at(group)); }
  template <typename Use>
  void each(uint32_t b, Use use) const {
    const U8x64 both = load_for_rows(bytes + (10 + b / 2) * kRows);
    const U8x64 added = b % 2 == 0 ? low_nibbles(both) : high_nibbles(both);
    const uint8_t* quants = bytes + kHead + b * Plain2::kBytes;
    each_index<4>([&](auto i) {
      const U8x64 eighth = lookup(added, kTwoOfBit<i>);
      const U8x64 levels = load_u8(quants + 64 * (i / 2));
      constexpr int kFirst = i % 2 * 4;  // bit of group 2i, to bit 3
      use(std::integral_constant<int, 2 * i>(),
          or_bits<(kFirst > 3 ? kFirst - 3 : 0), (kFirst < 3 ? 3 - kFirst : 0), 0x18>(eighth,
                                                                                      levels));
      use(std::integral_constant<int, 2 * i + 1>(),
          or_bits<(kFirst > 1 ? kFirst - 1 : 0), (kFirst < 1 ? 1 - kFirst : 0), 0x18>(eighth,
                                                                                      levels));
    });
  }
};

}  // namespace tenon::cpu::TENON_CPU_ISA
