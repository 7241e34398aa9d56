// Eight consecutive values of a weight, whatever its format. Blocks lie as in a model file, but each
// begins at a multiple of four bytes (backends/gpu/weight_rows.h).

#include "half.glsl"

layout(constant_id = 1) const uint kFormat = 0;  // the numbers of GGUF
layout(constant_id = 2) const uint kBlockValues = 1;
layout(constant_id = 3) const uint kBlockWords = 1;  // 0: half a word, one f16 or bf16

uint byte_at(Words block, uint offset) {
  return block.at[offset / 4] >> (offset % 4 * 8) & 255u;
}
// offset is even.
uint short_at(Words block, uint offset) {
  return block.at[offset / 4] >> (offset % 4 * 8) & 0xFFFFu;
}
uint word_at(Words block, uint offset) {
  const uint shift = offset % 4 * 8;
  const uint low = block.at[offset / 4] >> shift;
  return shift == 0 ? low : low | block.at[offset / 4 + 1] << 32 - shift;
}
float half_at(Words block, uint offset) { return half_to_float(short_at(block, offset)); }
float signed_byte(uint value) { return float(bitfieldExtract(int(value), 0, 8)); }

// The nibbles of bytes [offset + v % 16, + 8) of 32 values: of the first 16 the low ones.
uint nibble_of_32(Words block, uint offset, uint v, uint i) {
  return byte_at(block, offset + v % 16 + i) >> v / 16 * 4 & 15u;
}

// A module has the decoders of one family, which the build names (gpu/kernel_list.h): a driver takes longer to
// read all of them than to compile the one that is used. Each file defines decode_block.
#if TENON_FAMILY == 0
#include "format_floats.glsl"
#elif TENON_FAMILY == 1
#include "format_scaled.glsl"
#elif TENON_FAMILY == 2
#include "format_k.glsl"
#elif TENON_FAMILY == 3
#include "format_codebook.glsl"
#else
#include "format_small.glsl"
#endif

// Values [first, first + 8) of a row, first a multiple of 8. Those beyond the end of a row of floats are memory of
// the weights, and mean nothing.
void decode8(Address row, uint first, Address grids, out float w[8]) {
#if TENON_FAMILY == 0
  decode_floats(Words(row), first, w);
#else
  Words block = Words(row + first / kBlockValues * kBlockWords * 4);
  decode_block(block, first % kBlockValues, Words(grids), w);
#endif
}
