// Blocks of 32 values with one scale: layouts and formulas are those of src/quant/q4_0.h, q4_1.h,
// q5_0.h, q5_1.h and q8_0.h. v, a multiple of 8, is the first value's place in the block.

// Bit v + i of the four bytes at `offset`, as a fifth bit.
TENON_DEVICE uint fifth_bit(Words block, uint offset, uint v, uint i) {
  return (byte_at(block, offset + v / 8) >> i & 1u) << 4;
}

TENON_DEVICE void decode_q4_0(Words block, uint v, TENON_OUT(float, w, 8)) {
  const float d = half_at(block, 0);
  for (uint i = 0; i < 8; ++i) w[i] = (float(nibble_of_32(block, 2, v, i)) - 8) * d;
}

TENON_DEVICE void decode_q4_1(Words block, uint v, TENON_OUT(float, w, 8)) {
  const float d = half_at(block, 0);
  const float m = half_at(block, 2);
  for (uint i = 0; i < 8; ++i) w[i] = float(nibble_of_32(block, 4, v, i)) * d + m;
}

TENON_DEVICE void decode_q5_0(Words block, uint v, TENON_OUT(float, w, 8)) {
  const float d = half_at(block, 0);
  for (uint i = 0; i < 8; ++i) {
    w[i] = (float(nibble_of_32(block, 6, v, i) | fifth_bit(block, 2, v, i)) - 16) * d;
  }
}

TENON_DEVICE void decode_q5_1(Words block, uint v, TENON_OUT(float, w, 8)) {
  const float d = half_at(block, 0);
  const float m = half_at(block, 2);
  for (uint i = 0; i < 8; ++i) {
    w[i] = float(nibble_of_32(block, 8, v, i) | fifth_bit(block, 4, v, i)) * d + m;
  }
}

TENON_DEVICE void decode_q8_0(Words block, uint v, TENON_OUT(float, w, 8)) {
  const float d = half_at(block, 0);
  for (uint i = 0; i < 8; ++i) w[i] = signed_byte(byte_at(block, 2 + v + i)) * d;
}

TENON_DEVICE void decode_block(Words block, uint v, Words, TENON_OUT(float, w, 8)) {
  switch (weight_format()) {
    case 2:
      decode_q4_0(block, v, w);
      break;
    case 3:
      decode_q4_1(block, v, w);
      break;
    case 6:
      decode_q5_0(block, v, w);
      break;
    case 7:
      decode_q5_1(block, v, w);
      break;
    default:
      decode_q8_0(block, v, w);
      break;
  }
}
