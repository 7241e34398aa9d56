// Bytes, halves and words of a block of a weight, which begins at a multiple of four bytes.
#pragma once

#include "backends/cuda/kernels/device.h"
#include "backends/cuda/kernels/device_half.h"

namespace tenon::cuda {

TENON_DEVICE uint byte_at(Words block, uint offset) {
  return block.at[offset / 4] >> (offset % 4 * 8) & 255u;
}
// offset is even.
TENON_DEVICE uint short_at(Words block, uint offset) {
  return block.at[offset / 4] >> (offset % 4 * 8) & 0xFFFFu;
}
TENON_DEVICE uint word_at(Words block, uint offset) {
  const uint shift = offset % 4 * 8;
  const uint low = block.at[offset / 4] >> shift;
  return shift == 0 ? low : low | block.at[offset / 4 + 1] << (32 - shift);
}
TENON_DEVICE float half_at(Words block, uint offset) {
  return half_to_float(short_at(block, offset));
}

// The nibbles of bytes [offset + v % 16, + 8) of 32 values: of the first 16 the low ones.
TENON_DEVICE uint nibble_of_32(Words block, uint offset, uint v, uint i) {
  return byte_at(block, offset + v % 16 + i) >> (v / 16 * 4) & 15u;
}

}  // namespace tenon::cuda
