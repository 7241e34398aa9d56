// Readers of panel blocks in the codebook formats. kernel_integer.h defines their interface,
// panels.h the byte layout. Included by kernels_<isa>.cpp after vec.h.
//
// Levels with their signs are codes of up to four bits; a table of 16 turns them into bytes.
#pragma once

#include "backends/cpu/layouts/panel_blocks_integer.h"
#include "quant/iq2_s_grid.h"
#include "quant/iq2_xs_grid.h"
#include "quant/iq2_xxs_grid.h"
#include "quant/iq3_s_grid.h"
#include "quant/iq3_xxs_grid.h"

namespace tenon::cpu::TENON_CPU_ISA {

/// Byte for the code level | sign << sign_bit.
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

/// Common part of panel blocks of 256 values with an f16 d: scale code c means (2 c + 1) steps of
/// d.
template <int kByteBias>
struct CodebookBlock {
  static constexpr int kBias = kByteBias;
  static constexpr bool kHasOffset = false;
  static constexpr uint32_t kBlocks = 8;
  const uint8_t* bytes;
  F32x16 step, double_step;
  CodebookBlock(const uint8_t* panel_block, float steps)
      : bytes(panel_block),
        step(mul(half_vector(panel_block, 0), broadcast(steps))),
        double_step(add(step, step)) {}
  /// Exact: an f16 times at most 31.
  [[nodiscard]] F32x16 scale_of(I32x16 code) const { return fma(double_step, to_f32(code), step); }
  /// Word `index` of a row after d.
  [[nodiscard]] I32x16 word(uint32_t index) const {
    return load_i32(reinterpret_cast<const int32_t*>(bytes + 2 * kRows + 64 * index));
  }
  /// Nibble b of word `index`, with higher bits above it.
  [[nodiscard]] I32x16 low_nibble(uint32_t index, uint32_t b) const {
    return shift_right(word(index), static_cast<int>(4 * b));
  }
  [[nodiscard]] I32x16 nibble_at(uint32_t index, uint32_t b) const {
    return bit_and(low_nibble(index, b), broadcast_i32(15));
  }
};

// ---- iq2 ---------------------------------------------------------------------------------------

inline constexpr int kIq2Bias = 43;
static_assert(kIq2XxsLevels[2] == kIq2Bias && kIq2XsLevels[2] == kIq2Bias &&
              kIq2SLevels[2] == kIq2Bias);
inline constexpr Bytes16 kIq2Table = signed_levels(kIq2SLevels, 2, kIq2Bias);
static_assert(kIq2XxsLevels[0] == kIq2SLevels[0] && kIq2XxsLevels[1] == kIq2SLevels[1] &&
              kIq2XsLevels[0] == kIq2SLevels[0] && kIq2XsLevels[1] == kIq2SLevels[1]);

/// 3-bit codes, a scale nibble per kGroupValues values.
template <uint32_t kGroupValues>
struct Iq2Block : CodebookBlock<kIq2Bias> {
  using Weights = Unsigned<2 * kIq2Bias>;
  static constexpr uint32_t kGroup = kGroupValues;
  static constexpr uint32_t kScales = kActivationBlock / kGroup;
  static constexpr uint64_t kHead = (2 + 4 * kScales) * kRows;
  static constexpr uint64_t kBytes = kHead + kBlocks * Plain3::kBytes;
  explicit Iq2Block(const uint8_t* panel_block) : CodebookBlock(panel_block, 0.125f) {}
  [[nodiscard]] F32x16 scale(uint32_t group) const {
    return scale_of(nibble_at(group % kScales, group / kScales));
  }
  template <typename Use>
  [[gnu::always_inline]] void each(uint32_t b, Use use) const {
    Plain3::each_entry(bytes + kHead + b * Plain3::kBytes, kIq2Table, use);
  }
};

// ---- iq3 ---------------------------------------------------------------------------------------

inline constexpr int kIq3XxsBias = 62;
inline constexpr Bytes16 kIq3XxsTable = signed_levels(kIq3XxsLevels, 3, kIq3XxsBias);
inline constexpr int kIq3SBias = 15;
inline constexpr Bytes16 kIq3STable = signed_levels(kIq3SLevels, 3, kIq3SBias);
static_assert(kIq3XxsLevels[7] == kIq3XxsBias && kIq3SLevels[7] == kIq3SBias);

/// 4-bit codes, a scale nibble per 32 values; kSteps counts steps of d.
template <const Bytes16& kTable, int kByteBias, int kSteps>
struct Iq3Block : CodebookBlock<kByteBias> {
  using Weights = Unsigned<2 * kByteBias>;
  static constexpr uint32_t kGroup = 32;
  static constexpr uint64_t kHead = 6 * kRows;
  static constexpr uint64_t kBytes = kHead + 8 * Coded4<kTable>::kBytes;
  explicit Iq3Block(const uint8_t* panel_block)
      : CodebookBlock<kByteBias>(panel_block, 1.0f / static_cast<float>(kSteps)) {}
  [[nodiscard]] F32x16 scale(uint32_t b) const { return this->scale_of(this->nibble_at(0, b)); }
  template <typename Use>
  [[gnu::always_inline]] void each(uint32_t b, Use use) const {
    Coded4<kTable>::each(this->bytes + kHead + b * Coded4<kTable>::kBytes, use);
  }
};
using Iq3XxsBlock = Iq3Block<kIq3XxsTable, kIq3XxsBias, 4>;
using Iq3SBlock = Iq3Block<kIq3STable, kIq3SBias, 1>;

// ---- iq1: levels 0..2 mean -1, 0, 1, plus or minus an eighth ------------------------------------

/// Values of three-bit scale codes.
inline constexpr Floats8 kOddNumbers = {{1, 3, 5, 7, 9, 11, 13, 15}};
/// Offset by the lowest bit of a code: bytes are one above the level, and the bit tells whether the
/// eighth is subtracted.
inline constexpr Floats8 kIq1SOffsets = {
    {-0.875f, -1.125f, -0.875f, -1.125f, -0.875f, -1.125f, -0.875f, -1.125f}};

struct Iq1SBlock : CodebookBlock<0> {
  using Weights = Unsigned<2>;
  static constexpr bool kHasOffset = true;
  static constexpr uint32_t kGroup = 32;
  static constexpr uint64_t kHead = 6 * kRows;
  static constexpr uint64_t kBytes = kHead + kBlocks * Plain2::kBytes;
  explicit Iq1SBlock(const uint8_t* panel_block) : CodebookBlock(panel_block, 1.0f) {}
  /// A nibble is three bits of scale and a bit for the offset.
  [[nodiscard]] F32x16 scale(uint32_t b) const {
    return mul(step, lookup(low_nibble(0, b), kOddNumbers));
  }
  [[nodiscard]] F32x16 offset(uint32_t b, F32x16 scale) const {
    return mul(scale, lookup(shift_right(low_nibble(0, b), 3), kIq1SOffsets));
  }
  template <typename Use>
  [[gnu::always_inline]] void each(uint32_t b, Use use) const {
    Plain2::each(bytes + kHead + b * Plain2::kBytes, use);
  }
  template <typename Use>
  [[gnu::always_inline]] void each_in_place(uint32_t b, Use use) const {
    Plain2::each_in_place(bytes + kHead + b * Plain2::kBytes, use);
  }
};

/// Eight times the weight as a byte: 8 level + 2, or 8 level for a negative eighth.
inline constexpr int kIq1MBias = 9;

struct Iq1MBlock : CodebookBlock<kIq1MBias> {
  using Weights = Unsigned<2 * kIq1MBias>;
  static constexpr uint32_t kGroup = 16;
  static constexpr uint64_t kHead = 14 * kRows;
  static constexpr uint64_t kBytes = kHead + kBlocks * Plain2::kBytes;
  explicit Iq1MBlock(const uint8_t* panel_block) : CodebookBlock(panel_block, 0.125f) {}
  [[nodiscard]] F32x16 scale(uint32_t group) const {
    return mul(step, lookup(low_nibble(group % 2, group / 2), kOddNumbers));
  }
  /// A bit per eight values, of block b and the blocks after it: set if the eighth is added.
  [[nodiscard]] I32x16 added(uint32_t b) const { return low_nibble(2, b); }
  template <typename Use>
  [[gnu::always_inline]] void each(uint32_t b, Use use) const {
    const U8x64 eighths = repeat_lowest_byte(bit_and(added(b), broadcast_i32(15)));
    each_part(b, [&](auto g, U8x64 levels) TENON_INLINED {
      use(g, or_bytes(levels, lookup(eighths, kTwoOfBit<g / 2>)));
    });
  }
  template <typename Use>
  [[gnu::always_inline]] void each_part(uint32_t b, Use use) const {
    const uint8_t* quants = bytes + kHead + b * Plain2::kBytes;
    const U8x64 raw[2] = {load_u8(quants), load_u8(quants + 64)};
    each_index<8>([&](auto g) TENON_INLINED {
      constexpr int kBit = g % 4 * 2;  // to bit 3
      use(g, moved_bits<(kBit > 3 ? kBit - 3 : 0), (kBit < 3 ? 3 - kBit : 0), 0x18>(raw[g / 4]));
    });
  }
  /// Unit of the codes.
  static constexpr int kCodeUnit = 8;
  template <typename Use>
  [[gnu::always_inline]] void each_in_place(uint32_t b, Use use) const {
    Plain2::each_in_place(bytes + kHead + b * Plain2::kBytes, use);
  }
  [[nodiscard]] I32x16 rest(uint32_t b, int h, const HalfTotals& totals) const {
    return choose_sums<-kIq1MBias, 2 - kIq1MBias>(shift_right(added(b), 2 * h), totals);
  }
};

}  // namespace tenon::cpu::TENON_CPU_ISA
