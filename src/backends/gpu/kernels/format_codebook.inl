// Blocks of 256 values as points of a codebook: src/quant/iq1_s.h to iq3_xxs.h. Points lie in
// `grids`, two a word, from the places that stage_parameters.h names.

TENON_DEVICE uint point_of(Words grids, uint number) {
  return grids.at[number / 2] >> number % 2 * 16 & 0xFFFFu;
}

// Eight signs from a code of seven bits: an even number of them is negative.
TENON_DEVICE uint expand_signs(uint code) {
  const uint low = code & 127u;
  return low | (count_bits(low) & 1u) << 7;
}
TENON_DEVICE float with_sign(float value, uint signs, uint i) {
  return (signs >> i & 1u) != 0 ? -value : value;
}

// Value of the levels 0, 1 and 2 of grids of two bits.
TENON_DEVICE float iq2_level(uint point, uint i) {
  const uint level = point >> 2 * i & 3u;
  return level == 0 ? 8.0f : level == 1 ? 25.0f : 43.0f;
}

TENON_DEVICE void decode_iq2_xxs(Words block, uint v, Words grids, TENON_OUT(float, w, 8)) {
  const uint s = v / 32;
  const uint g = v % 32 / 8;
  const uint tail = short_at(block, 2 + 8 * s + 4) | short_at(block, 2 + 8 * s + 6) << 16;
  const float scale = half_at(block, 0) * (0.5f + float(tail >> 28)) * 0.25f;
  const uint point = point_of(grids, kIq2XxsPoints + byte_at(block, 2 + 8 * s + g));
  const uint signs = expand_signs(tail >> 7 * g);
  for (uint i = 0; i < 8; ++i) w[i] = with_sign(scale * iq2_level(point, i), signs, i);
}

TENON_DEVICE void decode_iq2_xs(Words block, uint v, Words grids, TENON_OUT(float, w, 8)) {
  const uint g = v / 8;
  const uint nibble = byte_at(block, 66 + g / 4) >> g % 4 / 2 * 4 & 15u;
  const float scale = half_at(block, 0) * (0.5f + float(nibble)) * 0.25f;
  const uint code = short_at(block, 2 + 2 * g);
  const uint point = point_of(grids, kIq2XsPoints + (code & 511u));
  const uint signs = expand_signs(code >> 9);
  for (uint i = 0; i < 8; ++i) w[i] = with_sign(scale * iq2_level(point, i), signs, i);
}

TENON_DEVICE void decode_iq2_s(Words block, uint v, Words grids, TENON_OUT(float, w, 8)) {
  const uint g = v / 8;
  const uint nibble = byte_at(block, 74 + g / 4) >> g % 4 / 2 * 4 & 15u;
  const float scale = half_at(block, 0) * (0.5f + float(nibble)) * 0.25f;
  const uint high = byte_at(block, 66 + g / 4) >> g % 4 * 2 & 3u;
  const uint point = point_of(grids, kIq2SPoints + (byte_at(block, 2 + g) | high << 8));
  const uint signs = byte_at(block, 34 + g);
  for (uint i = 0; i < 8; ++i) w[i] = with_sign(scale * iq2_level(point, i), signs, i);
}

TENON_DEVICE void decode_iq3_xxs(Words block, uint v, Words grids, TENON_OUT(float, w, 8)) {
  const uint s = v / 32;
  const uint k = v % 32 / 8;
  const uint tail = word_at(block, 66 + 4 * s);
  const float scale = half_at(block, 0) * (0.5f + float(tail >> 28)) * 0.5f;
  const uint signs = expand_signs(tail >> 7 * k);
  for (uint i = 0; i < 8; ++i) {
    const uint point = point_of(grids, kIq3XxsPoints + byte_at(block, 2 + v / 4 + i / 4));
    const uint level = point >> 3 * (i % 4) & 7u;
    const float value = level == 7 ? 62.0f : float(8 * level + 4);
    w[i] = with_sign(scale * value, signs, i);
  }
}

TENON_DEVICE void decode_iq3_s(Words block, uint v, Words grids, TENON_OUT(float, w, 8)) {
  const uint nibble = byte_at(block, 106 + v / 64) >> v / 32 % 2 * 4 & 15u;
  const float scale = half_at(block, 0) * float(1 + 2 * nibble);
  const uint signs = byte_at(block, 74 + v / 8);
  for (uint i = 0; i < 8; ++i) {
    const uint g = v / 4 + i / 4;
    const uint high = byte_at(block, 66 + g / 8) >> g % 8 & 1u;
    const uint point = point_of(grids, kIq3SPoints + (byte_at(block, 2 + g) | high << 8));
    w[i] = with_sign(scale * float(2 * (point >> 3 * (i % 4) & 7u) + 1), signs, i);
  }
}

TENON_DEVICE void write_iq1(uint point, float scale, float offset, TENON_OUT(float, w, 8)) {
  for (uint i = 0; i < 8; ++i) w[i] = scale * (float(point >> 2 * i & 3u) - 1 + offset);
}

TENON_DEVICE void decode_iq1_s(Words block, uint v, Words grids, TENON_OUT(float, w, 8)) {
  const uint g = v / 8;
  const uint word = short_at(block, 34 + g / 4 * 2);
  const float scale = half_at(block, 0) * float(2 * (word >> 12 & 7u) + 1);
  const uint number = byte_at(block, 2 + g) | (word >> g % 4 * 3 & 7u) << 8;
  write_iq1(point_of(grids, kIq1Points + number), scale, (word & 0x8000u) != 0 ? -0.125f : 0.125f,
            w);
}

TENON_DEVICE void decode_iq1_m(Words block, uint v, Words grids, TENON_OUT(float, w, 8)) {
  uint d = 0;
  for (uint i = 0; i < 4; ++i) d |= short_at(block, 48 + 2 * i) >> 12 << 4 * i;
  const uint g = v / 8;
  const uint t = g / 2;
  const uint code = short_at(block, 48 + t / 4 * 2) >> t % 4 * 3 & 7u;
  const uint nibble = byte_at(block, 32 + g / 2) >> g % 2 * 4 & 15u;
  const uint number = byte_at(block, g) | (nibble & 7u) << 8;
  write_iq1(point_of(grids, kIq1Points + number), half_to_float(d) * float(2 * code + 1),
            (nibble & 8u) != 0 ? -0.125f : 0.125f, w);
}

TENON_DEVICE void decode_block(Words block, uint v, Words grids, TENON_OUT(float, w, 8)) {
  switch (weight_format()) {
    case 16:
      decode_iq2_xxs(block, v, grids, w);
      break;
    case 17:
      decode_iq2_xs(block, v, grids, w);
      break;
    case 18:
      decode_iq3_xxs(block, v, grids, w);
      break;
    case 19:
      decode_iq1_s(block, v, grids, w);
      break;
    case 21:
      decode_iq3_s(block, v, grids, w);
      break;
    case 22:
      decode_iq2_s(block, v, grids, w);
      break;
    default:
      decode_iq1_m(block, v, grids, w);
      break;
  }
}
