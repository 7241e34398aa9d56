// f16 as bits, computed: packHalf2x16 may round either way, and unpackHalf2x16 may lose small
// numbers. CUDA has instructions with the same results, NaN apart (cuda/kernels/device_half.h).

TENON_DEVICE float half_to_float(uint bits) {
  const uint exponent = bits >> 10 & 31u;
  const uint mantissa = bits & 1023u;
  const uint sign_bit = (bits & 0x8000u) << 16;
  float magnitude = float(mantissa) * 5.9604645e-8f;  // 2^-24
  if (exponent == 31u)
    magnitude = bits_to_float(0x7F800000u | mantissa << 13);
  else if (exponent > 0)
    magnitude = bits_to_float((exponent + 112u) << 23 | mantissa << 13);
  return bits_to_float(float_to_bits(magnitude) | sign_bit);
}

// Rounds to nearest, ties to even. Too large values become infinity; NaN stays NaN.
TENON_DEVICE uint float_to_half(float value) {
  const uint bits = float_to_bits(value);
  const uint sign_bit = bits >> 16 & 0x8000u;
  const uint magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return sign_bit | 0x7E00u;
  if (magnitude >= 0x477FF000u) return sign_bit | 0x7C00u;  // 65520, which rounds to 65536
  if (magnitude < 0x33000000u) return sign_bit;             // 2^-25, half the smallest
  if (magnitude >= 0x38800000u) {
    const uint rebased = magnitude - (112u << 23);
    return sign_bit | ((rebased + 0xFFFu + (rebased >> 13 & 1u)) >> 13);
  }
  const uint shift = 126u - (magnitude >> 23);
  const uint mantissa = (magnitude & 0x7FFFFFu) | 0x800000u;
  const uint rest = mantissa & ((1u << shift) - 1u);
  const uint tie = 1u << (shift - 1u);
  const uint rounded = mantissa >> shift;
  const bool up = rest > tie || (rest == tie && (rounded & 1u) != 0);
  return sign_bit | (rounded + (up ? 1u : 0u));
}
