// Quantisation of activations with a scale per 32 values: to signed bytes, as the kernels of
// integer panels read them, and to fixed point. Included by kernels_<isa>.cpp after vec.h.
#pragma once

#include <algorithm>
#include <bit>
#include <type_traits>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {

/// Blocks with smaller values only are stored as zeros, because 127 / amax would overflow.
constexpr float kSmallestBlockMax = 1e-30f;

/// Candidates for the byte of a block's largest value. The choice sets the scale and thus the
/// errors of the other values.
constexpr float kLargestBytes[4] = {127, 126, 125, 124};
/// Weight of a squared error in units of that byte, four times.
constexpr struct ErrorUnits {
  float v[16];
  constexpr ErrorUnits() : v() {
    for (int i = 0; i < 16; ++i) v[i] = 1 / (kLargestBytes[i % 4] * kLargestBytes[i % 4]);
  }
} kErrorUnits;

/// Sums of squared errors of a block, in units of the byte, for each candidate.
inline FourFloats square_errors(const float* x, float inverse) {
  const F32x16 values[2] = {load(x), load(x + kHalfBlock)};
  F32x16 squares[4];
  for (int i = 0; i < 4; ++i) {
    const F32x16 factor = broadcast(kLargestBytes[i] * inverse);
    const F32x16 errors[2] = {from_nearest(mul(values[0], factor)),
                              from_nearest(mul(values[1], factor))};
    squares[i] = fma(errors[1], errors[1], mul(errors[0], errors[0]));
  }
  return sums_of(squares);
}

/// Candidate with the least of four errors, which are positive or NaN.
inline float best_largest_byte(const FourFloats& errors) {
  // Packs the index into the last bits: avoids an unpredictable branch.
  uint32_t least = UINT32_MAX;
  for (uint32_t i = 0; i < 4; ++i) {
    least = std::min(least, (std::bit_cast<uint32_t>(errors.v[i]) & ~3u) | i);
  }
  return kLargestBytes[least & 3];
}

/// Up to 16 blocks of values: some blocks of some rows of [rows, stride].
struct ValueBlocks {
  static constexpr uint64_t kMost = 16;
  const float* x;
  uint64_t stride, rows, blocks;
  [[nodiscard]] const float* at(uint64_t r, uint64_t b) const {
    return x + r * stride + b * kActivationBlock;
  }
  /// Calls use(i, values of block i).
  template <typename Use>
  void each(Use use) const {
    uint64_t i = 0;
    for (uint64_t r = 0; r < rows; ++r) {
      for (uint64_t b = 0; b < blocks; ++b) use(i++, at(r, b));
    }
  }
};

/// Factors that turn blocks of values into bytes, and scales that turn bytes into values. Each step
/// runs over all blocks, so it waits only for the step before. A NaN or infinite activation makes
/// its block's scale NaN or infinite, so it cannot look like a number.
struct BlockFactors {
  float scale[ValueBlocks::kMost], factor[ValueBlocks::kMost];
  explicit BlockFactors(const ValueBlocks& values) {
    float largest[ValueBlocks::kMost] = {}, byte[ValueBlocks::kMost] = {};
    values.each([&](uint64_t i, const float* x) {
      largest[i] = max_magnitude(load(x), load(x + kHalfBlock));
    });
    const F32x16 most = load(largest), least = broadcast(kSmallestBlockMax);
    const F32x16 inverse = zero_where_less(most, least, div(broadcast(1.0f), most));
    store(factor, inverse);
    FourFloats errors[ValueBlocks::kMost] = {};
    values.each([&](uint64_t i, const float* x) { errors[i] = square_errors(x, factor[i]); });
    for (uint64_t i = 0; i < ValueBlocks::kMost; i += 4) {
      store(errors[i].v, mul(load(errors[i].v), load(kErrorUnits.v)));
    }
    for (uint64_t i = 0; i < values.rows * values.blocks; ++i) {
      byte[i] = best_largest_byte(errors[i]);
    }
    store(scale, zero_where_less(most, least, div(most, load(byte))));
    store(factor, mul(load(byte), inverse));
  }
};

/// True if both q and q + 128 are in memory.
inline constexpr bool kKeepsBoth = kTilesReadSigned && kTilesReadBiased;
/// True if this many rows use the kernel that unpacks on the way (kernel_integer.h) for weights of
/// all formats, false if some have tiles (kernel_tiled.h).
inline bool reads_packed(uint64_t num_rows) {
  return num_rows <= (kKeepsBoth ? kDirectRows : kPackedRows);
}

/// Destinations of a block's bytes and their companions.
struct QuantBlock {
  uint64_t interleave;
  int8_t* q;
  uint8_t* biased;
  float *d, *sums, *half_sums;
  HalfTotals* totals;
  QuantBlock(const QuantRows& out, uint64_t t, uint64_t column) : interleave(out.interleave()) {
    const uint64_t bytes = out.row(t, 4, 4) + column * interleave;
    const uint64_t whole = out.row(t, kActivationBlock) + column / kActivationBlock * interleave;
    const uint64_t half = out.row(t, kHalfBlock) + column / kHalfBlock * interleave;
    q = out.q + bytes;
    biased = out.biased + bytes;
    d = out.d + whole;
    sums = out.sums + whole;
    half_sums = out.half_sums + half;
    totals = out.totals + half;
  }
  void next() {
    q += kActivationBlock * interleave;
    biased += kActivationBlock * interleave;
    d += interleave;
    sums += interleave;
    half_sums += 2 * interleave;
    totals += 2 * interleave;
  }
  void put(const float* x, float factor, float scale, bool packed) const {
    int8_t block[kActivationBlock];
    int32_t total = 0;
    for (uint64_t h = 0; h < 2; ++h) {
      const F32x16 scaled = mul(load(x + kHalfBlock * h), broadcast(factor));
      store_s8(block + kHalfBlock * h, round_nearest(scaled));
      const HalfTotals of_half = sums_of_8(block + kHalfBlock * h);
      total += of_half.both();
      half_sums[h * interleave] = scale * static_cast<float>(of_half.both());
      totals[h * interleave] = of_half;
    }
    *d = scale;
    *sums = scale * static_cast<float>(total);
    for (uint64_t j = 0; j < kActivationBlock; j += 4) {
      uint32_t four;
      std::memcpy(&four, block + j, 4);
      if (kTilesReadSigned || packed) std::memcpy(q + j * interleave, &four, 4);
      four ^= 0x80808080u;  // + 128
      if (kTilesReadBiased && !packed) std::memcpy(biased + j * interleave, &four, 4);
    }
  }
};

inline void quantise_bytes(const float* x, uint64_t x_stride, const QuantRows& out,
                           uint64_t first_row, uint64_t num_rows, uint64_t first_column,
                           uint64_t num_columns) {
  const bool packed = reads_packed(out.num_rows);
  const uint64_t num_blocks = num_columns / kActivationBlock;
  for (uint64_t row = 0; row < num_rows; row += kRowInterleave) {
    const uint64_t rows = std::min<uint64_t>(num_rows - row, kRowInterleave);
    const uint64_t at_once = ValueBlocks::kMost / rows;
    for (uint64_t block = 0; block < num_blocks; block += at_once) {
      const ValueBlocks values{x + row * x_stride + block * kActivationBlock, x_stride, rows,
                               std::min(num_blocks - block, at_once)};
      const BlockFactors factors(values);
      const uint64_t column = first_column + block * kActivationBlock;
      uint64_t i = 0;
      for (uint64_t r = 0; r < rows; ++r) {
        QuantBlock place(out, first_row + row + r, column);
        for (uint64_t b = 0; b < values.blocks; ++b, ++i) {
          place.put(values.at(r, b), factors.factor[i], factors.scale[i], packed);
          place.next();
        }
      }
    }
  }
}

/// Fixed-point value of a block's largest activation.
constexpr float kLargestFixed = 8191;

/// NaN or infinite activations become arbitrary integers, whose sums may wrap: the block's scale is
/// NaN or infinite, and so are all results.
template <typename Dot>
inline void quantise_fixed(const float* x, uint64_t x_stride, const QuantRows& out,
                           uint64_t first_row, uint64_t num_rows, uint64_t first_column,
                           uint64_t num_columns) {
  const uint64_t num_blocks = num_columns / kActivationBlock;
  for (uint64_t row = 0; row < num_rows; ++row) {
    int16_t* q = out.fixed_at(first_row + row, first_column);
    float* d = out.fixed_scale_at(first_row + row, first_column);
    for (uint64_t block = 0; block < num_blocks; block += ValueBlocks::kMost) {
      const ValueBlocks values{x + row * x_stride + block * kActivationBlock, x_stride, 1,
                               std::min(num_blocks - block, ValueBlocks::kMost)};
      float largest[ValueBlocks::kMost] = {}, factor[ValueBlocks::kMost], scale[ValueBlocks::kMost];
      values.each([&](uint64_t i, const float* v) {
        largest[i] = max_magnitude(load(v), load(v + kHalfBlock));
      });
      const F32x16 most = load(largest), least = broadcast(kSmallestBlockMax);
      store(factor, zero_where_less(most, least, div(broadcast(kLargestFixed), most)));
      store(scale, zero_where_less(most, least, div(most, broadcast(kLargestFixed))));
      values.each([&](uint64_t i, const float* v) {
        for (uint64_t h = 0; h < kActivationBlock; h += kHalfBlock) {
          Dot::store(q + (block + i) * kActivationBlock + h,
                     mul(load(v + h), broadcast(factor[i])));
        }
        d[block + i] = scale[i];
      });
    }
  }
}

inline void quantise(const float* x, uint64_t x_stride, const QuantRows& out, uint64_t first_row,
                     uint64_t num_rows, uint64_t first_column, uint64_t num_columns) noexcept {
  if (out.q != nullptr) {
    quantise_bytes(x, x_stride, out, first_row, num_rows, first_column, num_columns);
  }
  if constexpr (!std::is_void_v<DotS16>) {
    if (out.fixed == nullptr) return;
    quantise_fixed<DotS16>(x, x_stride, out, first_row, num_rows, first_column, num_columns);
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
