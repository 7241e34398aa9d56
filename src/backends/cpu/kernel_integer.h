// Linear kernels over integer panels: 8-bit activations against 4 to 8-bit weights. Included by
// kernels_<isa>.cpp after vec.h.
//
// For each output and each block of 32 values of k, in order:
//   for each half h of 16:  acc = fma(float(sum q_w q_a), scale_w * d_a[h], acc)
//   then                    acc = fma(offset_w, sum of d_a q_a, acc)          (per scale group)
// whatever the number of columns taken at once.
#pragma once

#include "backends/cpu/kernels.h"
#include "backends/cpu/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {

constexpr uint32_t kRows = kIntegerPanelRows;
/// Bytes ahead of the read position that decode asks the cache for: about the latency of memory
/// times the rate of one core.
constexpr uint64_t kPrefetchBytes = 1536;

// ---- Quants: the dot products of 32 values of k ------------------------------------------------

/// 4-bit weights: 4 vectors of nibbles, group 2i low and 2i + 1 high.
struct U4 {
  using Dot = DotU8;
  static constexpr uint64_t kBytes = 256;
  static constexpr int kSettleEvery = 2;  // pairs of groups; 15 x 127 x 2 x 4 fits int16
  template <int kPair>
  static void pair(const uint8_t* quants, U8x64& first, U8x64& second) {
    const U8x64 raw = load_u8(quants + 64 * kPair);
    first = low_nibbles(raw);
    second = high_nibbles(raw);
  }
};

/// 5-bit weights: U4 and a plane whose bit g belongs to group g.
struct U5 {
  using Dot = DotU8;
  static constexpr uint64_t kBytes = 320;
  static constexpr int kSettleEvery = 2;  // 31 x 127 x 2 x 4 = 31496
  template <int kPair>
  static void pair(const uint8_t* quants, U8x64& first, U8x64& second) {
    const U8x64 plane = load_u8(quants + 256);
    U4::pair<kPair>(quants, first, second);
    constexpr int kFirst = 2 * kPair;
    constexpr int kSecond = 2 * kPair + 1;
    first = or_bits<(kFirst > 4 ? kFirst - 4 : 0), (kFirst < 4 ? 4 - kFirst : 0), 16>(first, plane);
    second = or_bits<(kSecond > 4 ? kSecond - 4 : 0), (kSecond < 4 ? 4 - kSecond : 0), 16>(second,
                                                                                           plane);
  }
};

/// 6-bit weights: U4 and two planes with two bits for each of four groups.
struct U6 {
  using Dot = DotU8;
  static constexpr uint64_t kBytes = 384;
  static constexpr int kSettleEvery = 1;  // 63 x 127 x 2 x 2 = 32004
  template <int kPair>
  static void pair(const uint8_t* quants, U8x64& first, U8x64& second) {
    const U8x64 plane = load_u8(quants + 256 + 64 * (kPair / 2));
    U4::pair<kPair>(quants, first, second);
    constexpr int kFirst =
        kPair % 2 * 4;  // bit of the plane: 0 or 4; the second group is 2 further
    first = or_bits<0, 4 - kFirst, 0x30>(first, plane);
    second = or_bits<(kFirst == 4 ? 2 : 0), (kFirst == 4 ? 0 : 2), 0x30>(second, plane);
  }
};

/// Signed 8-bit weights.
struct S8 {
  using Dot = DotS8;
  static constexpr uint64_t kBytes = 512;
  static constexpr int kSettleEvery = 1;
  template <int kPair>
  static void pair(const uint8_t* quants, U8x64& first, U8x64& second) {
    first = load_u8(quants + 128 * kPair);
    second = load_u8(quants + 128 * kPair + 64);
  }
};

/// Adds groups 2 kPair and 2 kPair + 1 to the sums of all columns.
template <typename Quants, int kPair, int kCols>
inline void add_pair(const uint8_t* quants, const int8_t* const (&q)[kCols], uint64_t k,
                     typename Quants::Dot (&dots)[kCols]) {
  U8x64 first, second;
  Quants::template pair<kPair>(quants, first, second);
  for (int c = 0; c < kCols; ++c) {
    dots[c].add(first, q[c] + k + 8 * kPair);
    dots[c].add(second, q[c] + k + 8 * kPair + 4);
    if constexpr ((kPair + 1) % Quants::kSettleEvery == 0) dots[c].settle();
  }
}

// ---- Scales: what a unit says besides its quants
// -------------------------------------------------

// A weight is scale * q + offset, both constant over kGroup values of k: group g of a unit.

/// One f16 scale per 32 values; weights are d (q - kBias).
template <int kBias>
struct HalfScales {
  static constexpr uint32_t kBlocks = 1;  // of 32 values in a unit
  static constexpr uint32_t kGroup = 32;  // values with one scale
  static constexpr bool kHasOffset = kBias != 0;
  static constexpr uint64_t kBytes = 2 * kRows;
  F32x16 d;
  explicit HalfScales(const uint8_t* unit) : d(load_f16(reinterpret_cast<const uint16_t*>(unit))) {}
  [[nodiscard]] F32x16 scale(uint32_t) const { return d; }
  [[nodiscard]] F32x16 offset(uint32_t, F32x16 scale) const {
    return mul(scale, broadcast(static_cast<float>(-kBias)));
  }
};

/// f16 scale and f16 offset per 32 values.
struct HalfMinScales {
  static constexpr uint32_t kBlocks = 1;
  static constexpr uint32_t kGroup = 32;
  static constexpr bool kHasOffset = true;
  static constexpr uint64_t kBytes = 4 * kRows;
  F32x16 d, m;
  explicit HalfMinScales(const uint8_t* unit)
      : d(load_f16(reinterpret_cast<const uint16_t*>(unit))),
        m(load_f16(reinterpret_cast<const uint16_t*>(unit) + kRows)) {}
  [[nodiscard]] F32x16 scale(uint32_t) const { return d; }
  [[nodiscard]] F32x16 offset(uint32_t, F32x16) const { return m; }
};

/// q4_K, q5_K: 8 integer scales and minima per 256 values.
struct SuperScales {
  static constexpr uint32_t kBlocks = 8;
  static constexpr uint32_t kGroup = 32;
  static constexpr bool kHasOffset = true;
  static constexpr uint64_t kBytes = 4 * kRows + 16 * kRows;
  F32x16 d, negative_dmin;
  const uint8_t* integers;
  explicit SuperScales(const uint8_t* unit)
      : d(load_f16(reinterpret_cast<const uint16_t*>(unit))),
        negative_dmin(
            mul(load_f16(reinterpret_cast<const uint16_t*>(unit) + kRows), broadcast(-1.0f))),
        integers(unit + 4 * kRows) {}
  [[nodiscard]] F32x16 scale(uint32_t group) const {
    return mul(d, load_u8_as_f32(integers + group * kRows));
  }
  [[nodiscard]] F32x16 offset(uint32_t group, F32x16) const {
    return mul(negative_dmin, load_u8_as_f32(integers + (8 + group) * kRows));
  }
};

/// q6_K: 16 signed integer scales per 256 values; weights are d scale (q - 32).
struct Super6Scales {
  static constexpr uint32_t kBlocks = 8;
  static constexpr uint32_t kGroup = 16;
  static constexpr bool kHasOffset = true;
  static constexpr uint64_t kBytes = 2 * kRows + 16 * kRows;
  F32x16 d;
  const uint8_t* integers;
  explicit Super6Scales(const uint8_t* unit)
      : d(load_f16(reinterpret_cast<const uint16_t*>(unit))), integers(unit + 2 * kRows) {}
  [[nodiscard]] F32x16 scale(uint32_t group) const {
    return mul(d, load_s8_as_f32(integers + group * kRows));
  }
  [[nodiscard]] F32x16 offset(uint32_t, F32x16 scale) const {
    return mul(scale, broadcast(-32.0f));
  }
};

// ---- The kernel ------------------------------------------------------------------------------

/// The activation rows of the columns taken at once.
template <int kCols>
struct Columns {
  const int8_t* q[kCols];
  const float* d[kCols];
  const float* sums[kCols];
  Columns(const QuantRows& rows, uint64_t first) {
    for (int c = 0; c < kCols; ++c) {
      q[c] = rows.q_row(first + static_cast<uint64_t>(c));
      d[c] = rows.d_row(first + static_cast<uint64_t>(c));
      sums[c] = rows.sums_row(first + static_cast<uint64_t>(c));
    }
  }
};

/// Adds scale * sum w q of one half of a block: 16 values of k, which share an activation scale.
template <typename Quants, int kHalf, int kCols>
inline void add_half(F32x16 scale, const uint8_t* quants, const Columns<kCols>& x, uint64_t block,
                     F32x16 (&acc)[kCols]) {
  typename Quants::Dot dots[kCols];
  const uint64_t k = block * kActivationBlock;
  add_pair<Quants, 2 * kHalf>(quants, x.q, k, dots);
  add_pair<Quants, 2 * kHalf + 1>(quants, x.q, k, dots);
  for (int c = 0; c < kCols; ++c) {
    const F32x16 d = broadcast(x.d[c][2 * block + kHalf]);
    acc[c] = fma(to_f32(dots[c].total()), mul(scale, d), acc[c]);
  }
}

/// What the dot product adds to each weight: 128 where the instruction wants unsigned ones.
template <typename Dot>
constexpr float dot_bias() {
  if constexpr (requires { Dot::kBias; }) return static_cast<float>(Dot::kBias);
  return 0.0f;
}

/// One block of 32 values of k.
template <typename Quants, typename Scales, int kCols>
inline void add_block(const Scales& scales, uint32_t b, const uint8_t* quants,
                      const Columns<kCols>& x, uint64_t block, F32x16 (&acc)[kCols]) {
  constexpr float kDotBias = dot_bias<typename Quants::Dot>();
  const auto offset = [&](uint32_t group, F32x16 scale) {
    if constexpr (kDotBias == 0.0f) return scales.offset(group, scale);
    return fma(scale, broadcast(-kDotBias), scales.offset(group, scale));
  };
  if constexpr (Scales::kGroup == kActivationBlock) {
    const F32x16 scale = scales.scale(b);
    add_half<Quants, 0>(scale, quants, x, block, acc);
    add_half<Quants, 1>(scale, quants, x, block, acc);
    if constexpr (Scales::kHasOffset || kDotBias != 0.0f) {
      const F32x16 o = offset(b, scale);
      for (int c = 0; c < kCols; ++c) {
        const float sum_x = x.sums[c][2 * block] + x.sums[c][2 * block + 1];
        acc[c] = fma(o, broadcast(sum_x), acc[c]);
      }
    }
  } else {
    const F32x16 first = scales.scale(2 * b);
    const F32x16 second = scales.scale(2 * b + 1);
    add_half<Quants, 0>(first, quants, x, block, acc);
    add_half<Quants, 1>(second, quants, x, block, acc);
    const F32x16 o1 = offset(2 * b, first);
    const F32x16 o2 = offset(2 * b + 1, second);
    for (int c = 0; c < kCols; ++c) {
      acc[c] = fma(o1, broadcast(x.sums[c][2 * block]), acc[c]);
      acc[c] = fma(o2, broadcast(x.sums[c][2 * block + 1]), acc[c]);
    }
  }
}

/// One panel against kCols activation rows.
template <typename Quants, typename Scales, int kCols>
inline void integer_panel(const uint8_t* panel, const Columns<kCols>& x, uint64_t depth,
                          F32x16 (&acc)[kCols]) {
  constexpr uint64_t kUnitBytes = Scales::kBytes + Scales::kBlocks * Quants::kBytes;
  constexpr uint64_t kUnitValues = Scales::kBlocks * kActivationBlock;
  const uint64_t units = depth / kUnitValues;
  for (uint64_t u = 0; u < units; ++u, panel += kUnitBytes) {
    const Scales scales(panel);
    for (uint32_t b = 0; b < Scales::kBlocks; ++b) {
      const uint8_t* quants = panel + Scales::kBytes + b * Quants::kBytes;
      if constexpr (kCols == 1) {
        for (uint64_t line = 0; line < Quants::kBytes; line += 64) {
          __builtin_prefetch(quants + kPrefetchBytes + line);
        }
      }
      add_block<Quants>(scales, b, quants, x, u * Scales::kBlocks + b, acc);
    }
  }
}

template <typename Quants, typename Scales, int kCols>
inline void integer_columns(const LinearArgs& args, uint64_t panel, uint64_t t) {
  F32x16 acc[kCols];
  for (F32x16& a : acc) a = broadcast(0.0f);
  const Columns<kCols> x(args.quantised, t);
  integer_panel<Quants, Scales>(args.weights + panel * args.panel_bytes, x, args.depth, acc);
  const uint64_t first = panel * kRows;
  const uint64_t first_column = args.first_panel * kRows;
  const uint64_t valid = args.weight_rows - first < kRows ? args.weight_rows - first : kRows;
  for (int c = 0; c < kCols; ++c) {
    float* y = args.y + (t + static_cast<uint64_t>(c)) * args.y_stride + first - first_column;
    if (valid == kRows) {
      store(y, acc[c]);
    } else {
      store_part(y, acc[c], valid);
    }
  }
}

template <typename Quants, typename Scales>
void linear_integer(const LinearArgs& args) noexcept {
  for (uint64_t p = args.first_panel; p < args.first_panel + args.num_panels; ++p) {
    uint64_t t = 0;
    for (; t + kColumns <= args.num_rows; t += kColumns) {
      integer_columns<Quants, Scales, kColumns>(args, p, t);
    }
    if constexpr (kColumns > 4) {
      for (; t + 4 <= args.num_rows; t += 4) integer_columns<Quants, Scales, 4>(args, p, t);
    }
    for (; t + 2 <= args.num_rows; t += 2) integer_columns<Quants, Scales, 2>(args, p, t);
    for (; t < args.num_rows; ++t) integer_columns<Quants, Scales, 1>(args, p, t);
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
