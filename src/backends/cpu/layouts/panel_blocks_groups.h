// Readers of panel blocks of groups of codes (quant/code_groups.h). kernel_integer.h defines their
// interface, panels.h the byte layout. Included by kernels_<isa>.cpp after vec.h.
#pragma once

#include "backends/cpu/layouts/panel_blocks_integer.h"

namespace tenon::cpu::TENON_CPU_ISA {

inline I32x16 load_head(const uint8_t* panel_block, uint32_t index) {
  return load_i32(reinterpret_cast<const int32_t*>(panel_block) + kRows * index);
}
inline F32x16 scale_of_head(I32x16 head) { return as_f32(bit_and(head, broadcast_i32(~255))); }
inline F32x16 low_of_head(I32x16 head) { return to_f32(bit_and(head, broadcast_i32(255))); }

/// Common part: one scale and one offset for all values of a panel block.
///   kMiddle  code of the byte that means a weight of zero, before the offset
template <typename Bytes, typename WeightsOf, int kByteBias, uint32_t kNumHeads,
          uint32_t kNumBlocks>
struct CodesBlock {
  using Weights = WeightsOf;
  static constexpr int kBias = kByteBias;
  static constexpr bool kHasOffset = true;
  static constexpr uint32_t kBlocks = kNumBlocks;
  static constexpr uint32_t kGroup = 32;
  static constexpr uint64_t kHead = 4 * kRows * kNumHeads;
  static constexpr uint64_t kBytes = kHead + kBlocks * Bytes::kBytes;
  static constexpr bool kUnpacksFast = unpacks_fast<Bytes>();
  const uint8_t* quants;
  F32x16 d, m;
  CodesBlock(const uint8_t* panel_block, F32x16 scale)
      : quants(panel_block + kHead), d(scale), m(scale) {}
  [[nodiscard]] F32x16 scale(uint32_t) const { return d; }
  [[nodiscard]] F32x16 offset(uint32_t, F32x16) const { return m; }
  template <typename Use>
  [[gnu::always_inline]] void each(uint32_t b, Use use) const {
    Bytes::each(quants + b * Bytes::kBytes, use);
  }
};

/// Weights (q - zero) * d: the offset is (middle - zero) * d.
template <typename Bytes, typename WeightsOf, int kByteBias, int kMiddle, uint32_t kNumBlocks>
struct ZeroBlock : CodesBlock<Bytes, WeightsOf, kByteBias, 1, kNumBlocks> {
  explicit ZeroBlock(const uint8_t* panel_block)
      : ZeroBlock(panel_block, load_head(panel_block, 0)) {}

 private:
  ZeroBlock(const uint8_t* panel_block, I32x16 head)
      : CodesBlock<Bytes, WeightsOf, kByteBias, 1, kNumBlocks>(panel_block, scale_of_head(head)) {
    const F32x16 zero = low_of_head(head);
    this->m = mul(sub(broadcast(static_cast<float>(kMiddle)), zero), this->d);
  }
};

/// Weights q * d + second, or (q - second) * d with a 1 in the head: the offset is
/// middle * d + second, or middle * d - second * d.
template <typename Bytes, typename WeightsOf, int kByteBias, int kMiddle, uint32_t kNumBlocks>
struct SecondBlock : CodesBlock<Bytes, WeightsOf, kByteBias, 2, kNumBlocks> {
  explicit SecondBlock(const uint8_t* panel_block)
      : SecondBlock(panel_block, load_head(panel_block, 0)) {}

 private:
  SecondBlock(const uint8_t* panel_block, I32x16 head)
      : CodesBlock<Bytes, WeightsOf, kByteBias, 2, kNumBlocks>(panel_block, scale_of_head(head)) {
    const F32x16 kind = low_of_head(head);
    const F32x16 second = as_f32(load_head(panel_block, 1));
    const F32x16 factor = sub(sub(broadcast(1.0f), kind), mul(kind, this->d));  // 1 or -d
    this->m = fma(second, factor, mul(this->d, broadcast(static_cast<float>(kMiddle))));
  }
};

template <uint32_t kNumBlocks>
using GroupBlock = ZeroBlock<Plain4, Unsigned<15>, 8, 8, kNumBlocks>;
template <uint32_t kNumBlocks>
using PairBlock = SecondBlock<Plain4, Unsigned<15>, 8, 8, kNumBlocks>;
using GroupBlock8 = ZeroBlock<Signed8, Wide, kWideBias, 128, 1>;
using PairBlock8 = SecondBlock<Signed8, Wide, kWideBias, 128, 1>;

}  // namespace tenon::cpu::TENON_CPU_ISA
