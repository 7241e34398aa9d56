// Functions of real numbers to about 2 units in the last place, with the same bits on every device.
// Vulkan's own have larger errors: 3 + 2|x| units for exp, 2^-11 for sine and cosine.

TENON_CONSTANT float kLog2E = 1.44269504f;
// Few bits: its products with small integers are exact.
TENON_CONSTANT float kLn2High = 0.693359375f;
TENON_CONSTANT float kLn2Low = -2.12194440e-4f;

// 2^n for n in -126 .. 127.
TENON_DEVICE float power_of_two(int n) { return bits_to_float(uint(n + 127) << 23); }

// exp(r) - 1 for |r| <= 0.5: Taylor's series, whose next term is below 2^-33.
TENON_DEVICE float expm1_near_zero(float r) {
  float p = 1.0f / 362880.0f;
  p = p * r + 1.0f / 40320.0f;
  p = p * r + 1.0f / 5040.0f;
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  return p * r * r + r;
}

// exp(x); 0 below the smallest normal number, infinity above the largest.
TENON_DEVICE float exp_of(float x) {
  if (x > 88.72283f) return infinity();
  if (x < -87.33654f) return 0;
  const float n = round_even(x * kLog2E);
  const float r = (x - n * kLn2High) - n * kLn2Low;
  const int half_n = int(n) / 2;  // 2^128 is no float, the result may be near it
  return (1 + expm1_near_zero(r)) * power_of_two(half_n) * power_of_two(int(n) - half_n);
}

TENON_DEVICE float expm1_of(float x) {
  return absolute(x) <= 0.5f ? expm1_near_zero(x) : exp_of(x) - 1;
}

// ln(x) for normal x > 0. ln m = 2 artanh((m - 1) / (m + 1)) for m in [sqrt(1/2), sqrt(2)).
TENON_DEVICE float log_of(float x) {
  const uint bits = float_to_bits(x);
  const int n = int(bits - 0x3F3504F3u) >> 23;
  const float m = bits_to_float(bits - (uint(n) << 23));
  const float s = (m - 1) / (m + 1);
  const float z = s * s;
  float p = 2.0f / 11.0f;
  p = p * z + 2.0f / 9.0f;
  p = p * z + 2.0f / 7.0f;
  p = p * z + 2.0f / 5.0f;
  p = p * z + 2.0f / 3.0f;
  return float(n) * kLn2High + (float(n) * kLn2Low + (p * z * s + 2 * s));
}

// ln(1 + x) for x >= 0.
TENON_DEVICE float log1p_of(float x) {
  const float u = 1 + x;
  return u == 1 ? x : log_of(u) * (x / (u - 1));
}

TENON_DEVICE float sigmoid_of(float x) { return 1 / (1 + exp_of(-x)); }

TENON_DEVICE float tanh_of(float x) {
  const float e = expm1_of(2 * smaller(absolute(x), 20.0f));
  return is_nan(x) ? x : sign_of(x) * (e / (e + 2));
}

// Taylor series near zero, else Abramowitz and Stegun 7.1.26, whose error is below 1.5e-7.
TENON_DEVICE float erf_of(float x) {
  const float z = x * x;
  if (absolute(x) <= 1) {
    float p = 1.0f / 6894720.0f * -1.0f;  // n = 9: (-1)^n / (n! (2 n + 1))
    p = p * z + 1.0f / 685440.0f;
    p = p * z - 1.0f / 75600.0f;
    p = p * z + 1.0f / 9360.0f;
    p = p * z - 1.0f / 1320.0f;
    p = p * z + 1.0f / 216.0f;
    p = p * z - 1.0f / 42.0f;
    p = p * z + 1.0f / 10.0f;
    p = p * z - 1.0f / 3.0f;
    p = p * z + 1.0f;
    return 1.12837917f * x * p;
  }
  const float t = 1 / (1 + 0.3275911f * absolute(x));
  const float p =
      t * (0.254829592f +
           t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  return is_nan(x) ? x : sign_of(x) * (1 - p * exp_of(-z));
}

// Cosine and sine of an angle in 2^-32 of a turn.
TENON_DEVICE FloatPair cos_sin_of_turns(uint turns) {
  const uint quarter = (turns + 0x20000000u) >> 30;
  const float x = float(int(turns - (quarter << 30))) * 1.46291808e-9f;  // 2 pi / 2^32
  const float z = x * x;
  const float s =
      x + x * z * (-1.0f / 6 + z * (1.0f / 120 + z * (-1.0f / 5040 + z * (1.0f / 362880))));
  const float c =
      1 +
      z * (-0.5f + z * (1.0f / 24 + z * (-1.0f / 720 + z * (1.0f / 40320 - z * (1.0f / 3628800)))));
  switch (quarter & 3) {
    case 0:
      return FloatPair(c, s);
    case 1:
      return FloatPair(-s, c);
    case 2:
      return FloatPair(-c, -s);
    default:
      return FloatPair(s, -c);
  }
}
