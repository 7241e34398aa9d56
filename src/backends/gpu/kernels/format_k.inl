// Blocks of 256 values with scales of sub-blocks: src/quant/q2_k.h to q6_k.h.

TENON_DEVICE void decode_q2_k(Words block, uint v, TENON_OUT(float, w, 8)) {
  const uint s = v / 16;
  const uint code = byte_at(block, s);
  const float scale = half_at(block, 80) * float(code & 15u);
  const float minimum = half_at(block, 82) * float(code >> 4);
  const uint offset = 16 + v / 128 * 32 + v % 32;
  const uint shift = v % 128 / 32 * 2;
  for (uint i = 0; i < 8; ++i) {
    w[i] = scale * float(byte_at(block, offset + i) >> shift & 3u) - minimum;
  }
}

TENON_DEVICE void decode_q3_k(Words block, uint v, TENON_OUT(float, w, 8)) {
  const uint s = v / 16;
  const uint low = byte_at(block, 96 + s % 8) >> (s < 8 ? 0 : 4) & 15u;
  const uint high = byte_at(block, 104 + s % 4) >> s / 4 * 2 & 3u;
  const float scale = half_at(block, 108) * (float(low | high << 4) - 32);
  const uint offset = 32 + v / 128 * 32 + v % 32;
  const uint shift = v % 128 / 32 * 2;
  for (uint i = 0; i < 8; ++i) {
    const uint bits = byte_at(block, offset + i) >> shift & 3u;
    const uint third = byte_at(block, v % 32 + i) >> v / 32 & 1u;
    w[i] = scale * (float(bits | third << 2) - 4);
  }
}

// Scale and minimum of sub-block s of the twelve bytes at 4 (src/quant/k_scales.h).
TENON_DEVICE Pair k_scale(Words block, uint s) {
  if (s < 4) return Pair(byte_at(block, 4 + s) & 63u, byte_at(block, 8 + s) & 63u);
  const uint low = byte_at(block, 8 + s);
  return Pair((low & 15u) | byte_at(block, s) >> 6 << 4,
              low >> 4 | byte_at(block, 4 + s) >> 6 << 4);
}

TENON_DEVICE void decode_q4_k(Words block, uint v, TENON_OUT(float, w, 8)) {
  const Pair k = k_scale(block, v / 32);
  const float scale = half_at(block, 0) * float(k.x);
  const float minimum = half_at(block, 2) * float(k.y);
  const uint offset = 16 + v / 64 * 32 + v % 32;
  const uint shift = v / 32 % 2 * 4;
  for (uint i = 0; i < 8; ++i) {
    w[i] = scale * float(byte_at(block, offset + i) >> shift & 15u) - minimum;
  }
}

TENON_DEVICE void decode_q5_k(Words block, uint v, TENON_OUT(float, w, 8)) {
  const Pair k = k_scale(block, v / 32);
  const float scale = half_at(block, 0) * float(k.x);
  const float minimum = half_at(block, 2) * float(k.y);
  const uint offset = 48 + v / 64 * 32 + v % 32;
  const uint shift = v / 32 % 2 * 4;
  for (uint i = 0; i < 8; ++i) {
    const uint fifth = byte_at(block, 16 + v % 32 + i) >> v / 32 & 1u;
    w[i] = scale * float((byte_at(block, offset + i) >> shift & 15u) | fifth << 4) - minimum;
  }
}

TENON_DEVICE void decode_q6_k(Words block, uint v, TENON_OUT(float, w, 8)) {
  const float scale = half_at(block, 208) * signed_byte(byte_at(block, 192 + v / 16));
  const uint k = v % 128 / 32;
  const uint low = v / 128 * 64 + k % 2 * 32 + v % 32;
  const uint high = 128 + v / 128 * 32 + v % 32;
  for (uint i = 0; i < 8; ++i) {
    const uint four = byte_at(block, low + i) >> k / 2 * 4 & 15u;
    const uint two = byte_at(block, high + i) >> 2 * k & 3u;
    w[i] = scale * (float(four | two << 4) - 32);
  }
}

TENON_DEVICE void decode_block(Words block, uint v, Words, TENON_OUT(float, w, 8)) {
  switch (weight_format()) {
    case 10:
      decode_q2_k(block, v, w);
      break;
    case 11:
      decode_q3_k(block, v, w);
      break;
    case 12:
      decode_q4_k(block, v, w);
      break;
    case 13:
      decode_q5_k(block, v, w);
      break;
    default:
      decode_q6_k(block, v, w);
      break;
  }
}
