// Decodes eight consecutive values of a weight in any format. Blocks are laid out as in a model
// file, each at a multiple of four bytes (backends/gpu/weight_rows.h).

layout(constant_id = 1) const uint kFormat = 0;  // the numbers of GGUF
layout(constant_id = 2) const uint kBlockValues = 1;
layout(constant_id = 3) const uint kBlockWords = 1;  // 0: half a word, one f16 or bf16

#define weight_format() kFormat

#include "backends/gpu/kernels/weight_bytes.inl"

// A module has the decoders of one family, chosen by the build (gpu/kernel_list.h): drivers take
// longer to read all decoders than to compile the used one. Each file defines decode_block.
#if TENON_FAMILY == 0
#include "backends/gpu/kernels/format_floats.inl"
#elif TENON_FAMILY == 1
#include "backends/gpu/kernels/format_scaled.inl"
#elif TENON_FAMILY == 2
#include "backends/gpu/kernels/format_k.inl"
#elif TENON_FAMILY == 3
#include "backends/gpu/kernels/format_codebook.inl"
#else
#include "backends/gpu/kernels/format_small.inl"
#endif

// Decodes values [first, first + 8) of a row, first a multiple of 8. Values past the end of a row
// of floats are undefined memory of the weights.
void decode8(Address row, uint first, Address grids, out float w[8]) {
#if TENON_FAMILY == 0
  decode_block(Words(row), first, Words(grids), w);
#else
  Words block = Words(row + first / kBlockValues * kBlockWords * 4);
  decode_block(block, first % kBlockValues, Words(grids), w);
#endif
}
