// f32, f16 and bf16: eight values from a row.

TENON_DEVICE void decode_block(Words row, uint first, Words, TENON_OUT(float, w, 8)) {
  if (weight_format() == 0) {
    for (uint i = 0; i < 8; ++i) w[i] = bits_to_float(row.at[first + i]);
    return;
  }
  for (uint i = 0; i < 4; ++i) {
    const uint pair = row.at[first / 2 + i];
    if (weight_format() == 1) {
      w[2 * i] = half_to_float(pair & 0xFFFFu);
      w[2 * i + 1] = half_to_float(pair >> 16);
    } else {
      w[2 * i] = bits_to_float(pair << 16);
      w[2 * i + 1] = bits_to_float(pair & 0xFFFF0000u);
    }
  }
}
