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

#include "format_floats.glsl"
#include "format_scaled.glsl"
#include "format_k.glsl"
#include "format_codebook.glsl"
#include "format_small.glsl"

// Values [first, first + 8) of a row, first a multiple of 8. Those beyond the end of a row of floats are memory of
// the weights, and mean nothing.
void decode8(Address row, uint first, Address grids, out float w[8]) {
  if (kBlockValues == 1) {
    decode_floats(Words(row), first, w);
    return;
  }
  Words block = Words(row + first / kBlockValues * kBlockWords * 4);
  const uint v = first % kBlockValues;
  switch (kFormat) {
    case 2: decode_q4_0(block, v, w); break;
    case 3: decode_q4_1(block, v, w); break;
    case 6: decode_q5_0(block, v, w); break;
    case 7: decode_q5_1(block, v, w); break;
    case 8: decode_q8_0(block, v, w); break;
    case 10: decode_q2_k(block, v, w); break;
    case 11: decode_q3_k(block, v, w); break;
    case 12: decode_q4_k(block, v, w); break;
    case 13: decode_q5_k(block, v, w); break;
    case 14: decode_q6_k(block, v, w); break;
    case 16: decode_iq2_xxs(block, v, Words(grids), w); break;
    case 17: decode_iq2_xs(block, v, Words(grids), w); break;
    case 18: decode_iq3_xxs(block, v, Words(grids), w); break;
    case 19: decode_iq1_s(block, v, Words(grids), w); break;
    case 20: decode_iq4_nl(block, v, w); break;
    case 21: decode_iq3_s(block, v, Words(grids), w); break;
    case 22: decode_iq2_s(block, v, Words(grids), w); break;
    case 23: decode_iq4_xs(block, v, w); break;
    case 29: decode_iq1_m(block, v, Words(grids), w); break;
    case 34: decode_tq1_0(block, v, w); break;
    case 35: decode_tq2_0(block, v, w); break;
    case 39: decode_mxfp4(block, v, w); break;
    case 40: decode_nvfp4(block, v, w); break;
    case 41: decode_q1_0(block, v, w); break;
    default: decode_q2_0(block, v, w); break;
  }
}
