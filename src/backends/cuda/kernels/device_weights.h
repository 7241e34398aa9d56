// Eight consecutive values of a weight, whatever its format. Blocks lie as in a model file, but each begins at
// a multiple of four bytes (backends/gpu/weight_rows.h).
#pragma once

#include "backends/cuda/kernels/device_format_codebook.h"
#include "backends/cuda/kernels/device_format_floats.h"
#include "backends/cuda/kernels/device_format_k.h"
#include "backends/cuda/kernels/device_format_scaled.h"
#include "backends/cuda/kernels/device_format_small.h"

namespace tenon::cuda {

/// Constants 1 .. 3 of a kernel that reads a matrix (StageBuilder::Decoder). The family of formats is in its name
/// (gpu/kernel_list.h), so that a kernel holds the decoders of one.
struct Decoder {
  uint format;  // the numbers of GGUF
  uint block_values;
  uint block_words;  // 0: half a word, one f16 or bf16
};

/// Values [first, first + 8) of a row, first a multiple of 8. Those beyond the end of a row of floats are memory of
/// the weights, and mean nothing.
template <uint family>
TENON_DEVICE void decode8(const Decoder& d, Address row, uint first, Address grids, float (&w)[8]) {
  if constexpr (family == 0) {
    decode_floats(d.format, Words(row), first, w);
  } else {
    const Words block(row + Address{first / d.block_values * d.block_words} * 4);
    const uint v = first % d.block_values;
    if constexpr (family == 1) decode_scaled(d.format, block, v, w);
    if constexpr (family == 2) decode_k(d.format, block, v, w);
    if constexpr (family == 3) decode_codebook(d.format, block, v, Words(grids), w);
    if constexpr (family == 4) decode_small(d.format, block, v, w);
  }
}

}  // namespace tenon::cuda
