// Formats of up to four bits whose codes are uneven values, -1, 0 and 1, or signs:
// src/quant/iq4_nl.h, iq4_xs.h, mxfp4.h, nvfp4.h, tq1_0.h, tq2_0.h, q1_0.h and q2_0.h.

// kIq4Values of src/quant/iq4_values.h, a byte each. Words, no array: an indexed array lies in
// memory, not in registers.
TENON_DEVICE float iq4_value(uint code) {
  const uint negative = code < 4 ? 0xBFAD9881u : 0xF6EADDCFu;
  const uint positive = code < 12 ? 0x26190D01u : 0x71594535u;
  return signed_byte((code < 8 ? negative : positive) >> code % 4 * 8 & 255u);
}

TENON_DEVICE void decode_iq4_nl(Words block, uint v, TENON_OUT(float, w, 8)) {
  const float d = half_at(block, 0);
  for (uint i = 0; i < 8; ++i) w[i] = d * iq4_value(nibble_of_32(block, 2, v, i));
}

TENON_DEVICE void decode_iq4_xs(Words block, uint v, TENON_OUT(float, w, 8)) {
  const uint s = v / 32;
  const uint low = byte_at(block, 4 + s / 2) >> s % 2 * 4 & 15u;
  const uint high = short_at(block, 2) >> 2 * s & 3u;
  const float scale = half_at(block, 0) * (float(low | high << 4) - 32);
  for (uint i = 0; i < 8; ++i) w[i] = scale * iq4_value(nibble_of_32(block, 8 + 16 * s, v % 32, i));
}

// Twice the value of an e2m1 code.
TENON_DEVICE float fp4_doubled(uint code) {
  const uint magnitude = 0xC8643210u >> (code & 7u) * 4 & 15u;
  return (code & 8u) != 0 ? -float(magnitude) : float(magnitude);
}

TENON_DEVICE void decode_mxfp4(Words block, uint v, TENON_OUT(float, w, 8)) {
  const uint e = byte_at(block, 0);
  const float d = bits_to_float(e < 2 ? 0x00200000u << e : (e - 1u) << 23);
  for (uint i = 0; i < 8; ++i) w[i] = fp4_doubled(nibble_of_32(block, 1, v, i)) * d;
}

// Unsigned e4m3; 0x7f is 0.
TENON_DEVICE float ue4m3(uint code) {
  if (code == 0x7Fu) return 0;
  const uint exponent = code >> 3 & 15u;
  const uint mantissa = code & 7u;
  if (exponent == 0) return float(mantissa) * 0.001953125f;
  return bits_to_float((exponent + 120u) << 23 | mantissa << 20);
}

TENON_DEVICE void decode_nvfp4(Words block, uint v, TENON_OUT(float, w, 8)) {
  const uint s = v / 16;
  const float d = ue4m3(byte_at(block, s)) * 0.5f;
  for (uint i = 0; i < 8; ++i) {
    w[i] = fp4_doubled(byte_at(block, 4 + 8 * s + i) >> v % 16 / 8 * 4 & 15u) * d;
  }
}

TENON_DEVICE void decode_tq1_0(Words block, uint v, TENON_OUT(float, w, 8)) {
  const float d = half_at(block, 52);
  // 32 bytes of five digits, 16 of five, 4 of four; all first digits, then all second ones. Eight
  // values from a multiple of eight lie in one of the three parts.
  const uint start = v < 160 ? 0 : v < 240 ? 160 : 240;
  const uint width = v < 160 ? 32 : v < 240 ? 16 : 4;
  const uint bytes = v < 160 ? 0 : v < 240 ? 32 : 48;
  for (uint i = 0; i < 8; ++i) {
    const uint value = v + i - start;
    const uint digit = value / width;
    const uint power = digit == 0 ? 1 : digit == 1 ? 3 : digit == 2 ? 9 : digit == 3 ? 27 : 81;
    const uint fraction = byte_at(block, bytes + value % width) * power & 255u;
    w[i] = (float(fraction * 3 >> 8) - 1) * d;
  }
}

TENON_DEVICE void decode_tq2_0(Words block, uint v, TENON_OUT(float, w, 8)) {
  const float d = half_at(block, 64);
  const uint offset = v / 128 * 32 + v % 32;
  const uint shift = v % 128 / 32 * 2;
  for (uint i = 0; i < 8; ++i) {
    w[i] = (float(byte_at(block, offset + i) >> shift & 3u) - 1) * d;
  }
}

TENON_DEVICE void decode_q1_0(Words block, uint v, TENON_OUT(float, w, 8)) {
  const float d = half_at(block, 0);
  const uint bits = byte_at(block, 2 + v / 8);
  for (uint i = 0; i < 8; ++i) w[i] = (bits >> i & 1u) != 0 ? d : -d;
}

TENON_DEVICE void decode_q2_0(Words block, uint v, TENON_OUT(float, w, 8)) {
  const float d = half_at(block, 0);
  for (uint i = 0; i < 8; ++i) {
    w[i] = (float(byte_at(block, 2 + v / 4 + i / 4) >> i % 4 * 2 & 3u) - 1) * d;
  }
}

TENON_DEVICE void decode_block(Words block, uint v, Words, TENON_OUT(float, w, 8)) {
  switch (weight_format()) {
    case 20:
      decode_iq4_nl(block, v, w);
      break;
    case 23:
      decode_iq4_xs(block, v, w);
      break;
    case 34:
      decode_tq1_0(block, v, w);
      break;
    case 35:
      decode_tq2_0(block, v, w);
      break;
    case 39:
      decode_mxfp4(block, v, w);
      break;
    case 40:
      decode_nvfp4(block, v, w);
      break;
    case 41:
      decode_q1_0(block, v, w);
      break;
    default:
      decode_q2_0(block, v, w);
      break;
  }
}
