// Decodes eight consecutive values of a weight in any format. Blocks are laid out as in a model
// file, each at a multiple of four bytes (backends/gpu/weight_rows.h).
#pragma once

#include "backends/cuda/kernels/gpu_dialect.h"

namespace tenon::cuda {

/// Constants 1 .. 3 of kernels that read a matrix (StageBuilder::Decoder).
struct WeightFormat {
  uint format;  // the numbers of GGUF
  uint block_values;
  uint block_words;  // 0: half a word, one f16 or bf16
  TENON_DEVICE uint weight_format() const { return format; }
};

/// Decoder of a family of formats (gpu/kernel_list.h). A kernel is compiled for one family and
/// holds its decoders only.
template <uint family>
struct Decoder;
template <>
struct Decoder<0> : WeightFormat {
#include "backends/gpu/kernels/format_floats.inl"
};
template <>
struct Decoder<1> : WeightFormat {
#include "backends/gpu/kernels/format_scaled.inl"
};
template <>
struct Decoder<2> : WeightFormat {
#include "backends/gpu/kernels/format_k.inl"
};
template <>
struct Decoder<3> : WeightFormat {
#include "backends/gpu/kernels/format_codebook.inl"
};
template <>
struct Decoder<4> : WeightFormat {
#include "backends/gpu/kernels/format_small.inl"
};

template <uint family>
TENON_DEVICE Decoder<family> decoder_of(const Constants& constants) {
  return {{constants.values[0], constants.values[1], constants.values[2]}};
}

/// Decodes values [first, first + 8) of a row, first a multiple of 8. Values past the end of a row
/// of floats are undefined.
template <uint family>
TENON_DEVICE void decode8(Decoder<family> d, Address row, uint first, Address grids,
                          float (&w)[8]) {
  if constexpr (family == 0) {
    d.decode_block(Words(row), first, Words(grids), w);
  } else {
    const Words block(row + Address{first / d.block_values * d.block_words} * 4);
    d.decode_block(block, first % d.block_values, Words(grids), w);
  }
}

}  // namespace tenon::cuda
