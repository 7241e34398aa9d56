// Groups of codes (quant/code_groups.h) as plain integers, and their values. Included by
// panels.cpp.
#pragma once

#include <cstring>

#include "backends/cpu/layouts/panels.h"
#include "quant/code_groups.h"

namespace tenon::cpu {
namespace {

/// Codes of eight bits lie in panels as q - 128.
constexpr uint8_t kMiddleCode = 128;

/// Heads take the place of scales.
template <typename Block>
void extract_codes(const Block& block, BlockValues& plain) noexcept {
  std::memcpy(plain.scales, block.heads, sizeof(block.heads));
  for (uint32_t k = 0; k < Block::kValues; ++k) {
    plain.q[k] =
        static_cast<uint8_t>(code_of(block, k) ^ (Block::kCodeBits == 8 ? kMiddleCode : 0));
  }
}
template <uint32_t kBits, uint32_t kCount>
void extract(const BlockCodes<kBits, kCount>& block, BlockValues& plain) noexcept {
  extract_codes(block, plain);
}
template <uint32_t kBits, uint32_t kCount>
void extract(const BlockCodePairs<kBits, kCount>& block, BlockValues& plain) noexcept {
  extract_codes(block, plain);
  plain.scales[0] = plain.scales[0] != 0 ? 1 : 0;  // kernels multiply by the low byte of the head
}

/// The values of the block that they came from.
template <typename Block>
void values_codes(const BlockValues& plain, float* out) noexcept {
  uint8_t codes[Block::kValues];
  for (uint32_t k = 0; k < Block::kValues; ++k) {
    codes[k] = static_cast<uint8_t>(plain.q[k] ^ (Block::kCodeBits == 8 ? kMiddleCode : 0));
  }
  Block block;
  std::memcpy(block.heads, plain.scales, sizeof(block.heads));
  put_codes(codes, block);
  decode(block, out);
}

}  // namespace
}  // namespace tenon::cpu
