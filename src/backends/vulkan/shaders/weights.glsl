// Eight consecutive values of a weight, whatever its format. Blocks lie as in a model file, but each
// begins at a multiple of four bytes (backends/gpu/weight_rows.h).

layout(constant_id = 1) const uint kFormat = 0;  // the numbers of GGUF
layout(constant_id = 2) const uint kBlockValues = 1;
layout(constant_id = 3) const uint kBlockWords = 1;  // 0: half a word, one f16 or bf16

#define weight_format() kFormat

#include "backends/gpu/kernels/weight_bytes.inl"

// A module has the decoders of one family, which the build names (gpu/kernel_list.h): a driver takes longer to
// read all of them than to compile the one that is used. Each file defines decode_block.
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

// Values [first, first + 8) of a row, first a multiple of 8. Those beyond the end of a row of floats are memory of
// the weights, and mean nothing.
void decode8(Address row, uint first, Address grids, out float w[8]) {
#if TENON_FAMILY == 0
  decode_block(Words(row), first, Words(grids), w);
#else
  Words block = Words(row + first / kBlockValues * kBlockWords * 4);
  decode_block(block, first % kBlockValues, Words(grids), w);
#endif
}
