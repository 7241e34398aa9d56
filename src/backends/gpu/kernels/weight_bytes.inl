// Bytes, halves and words of a block of a weight, which begins at a multiple of four bytes.

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

// Nibble v + i of 32 in 16 bytes: the low ones are the first 16 values.
TENON_DEVICE uint nibble_of_32(Words block, uint offset, uint v, uint i) {
  return byte_at(block, offset + v % 16 + i) >> (v / 16 * 4) & 15u;
}
