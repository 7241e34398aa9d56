// f32, f16 and bf16: eight values from a row.

void decode_floats(Words row, uint first, out float w[8]) {
  if (kFormat == 0) {
    for (uint i = 0; i < 8; ++i) w[i] = uintBitsToFloat(row.at[first + i]);
    return;
  }
  for (uint i = 0; i < 4; ++i) {
    const uint pair = row.at[first / 2 + i];
    if (kFormat == 1) {
      w[2 * i] = half_to_float(pair & 0xFFFFu);
      w[2 * i + 1] = half_to_float(pair >> 16);
    } else {
      w[2 * i] = uintBitsToFloat(pair << 16);
      w[2 * i + 1] = uintBitsToFloat(pair & 0xFFFF0000u);
    }
  }
}
