// Functions of real numbers to about 2 units in the last place. Vulkan promises of exp no more than
// 3 + 2|x| units, and of sin and cos an absolute error of 2^-11; these are the same on every device.

const float kLog2E = 1.44269504;
const float kLn2High = 0.693359375;  // few bits: its products with small integers are exact
const float kLn2Low = -2.12194440e-4;

// 2^n for n in -126 .. 127.
float power_of_two(int n) { return uintBitsToFloat(uint(n + 127) << 23); }

// exp(r) - 1 for |r| <= 0.5: Taylor's series, whose next term is below 2^-33.
float expm1_near_zero(float r) {
  float p = 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  return p * r * r + r;
}

// 0 below the smallest normal number, infinity above the largest.
float exp_of(float x) {
  if (x > 88.72283) return kInfinity;
  if (x < -87.33654) return 0;
  const float n = roundEven(x * kLog2E);
  const float r = (x - n * kLn2High) - n * kLn2Low;
  const int half_n = int(n) / 2;  // 2^128 is no float, the result may be near it
  return (1 + expm1_near_zero(r)) * power_of_two(half_n) * power_of_two(int(n) - half_n);
}

float expm1_of(float x) {
  return abs(x) <= 0.5 ? expm1_near_zero(x) : exp_of(x) - 1;
}

// x > 0, normal. ln m = 2 artanh((m - 1) / (m + 1)) for m in [sqrt(1/2), sqrt(2)).
float log_of(float x) {
  const uint bits = floatBitsToUint(x);
  const int n = int(bits - 0x3F3504F3u) >> 23;
  const float m = uintBitsToFloat(bits - (uint(n) << 23));
  const float s = (m - 1) / (m + 1);
  const float z = s * s;
  float p = 2.0 / 11.0;
  p = p * z + 2.0 / 9.0;
  p = p * z + 2.0 / 7.0;
  p = p * z + 2.0 / 5.0;
  p = p * z + 2.0 / 3.0;
  return float(n) * kLn2High + (float(n) * kLn2Low + (p * z * s + 2 * s));
}

// x >= 0.
float log1p_of(float x) {
  const float u = 1 + x;
  return u == 1 ? x : log_of(u) * (x / (u - 1));
}

float sigmoid_of(float x) { return 1 / (1 + exp_of(-x)); }

float tanh_of(float x) {
  const float e = expm1_of(2 * min(abs(x), 20.0));
  return is_nan(x) ? x : sign(x) * (e / (e + 2));
}

// Taylor's series near zero, else Abramowitz and Stegun 7.1.26, whose error is below 1.5e-7.
float erf_of(float x) {
  const float z = x * x;
  if (abs(x) <= 1) {
    float p = 1.0 / 6894720.0 * -1.0;  // n = 9: (-1)^n / (n! (2 n + 1))
    p = p * z + 1.0 / 685440.0;
    p = p * z - 1.0 / 75600.0;
    p = p * z + 1.0 / 9360.0;
    p = p * z - 1.0 / 1320.0;
    p = p * z + 1.0 / 216.0;
    p = p * z - 1.0 / 42.0;
    p = p * z + 1.0 / 10.0;
    p = p * z - 1.0 / 3.0;
    p = p * z + 1.0;
    return 1.12837917 * x * p;
  }
  const float t = 1 / (1 + 0.3275911 * abs(x));
  const float p =
      t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return is_nan(x) ? x : sign(x) * (1 - p * exp_of(-z));
}

// Cosine and sine of an angle in 2^-32 of a turn.
vec2 cos_sin_of_turns(uint turns) {
  const uint quarter = (turns + 0x20000000u) >> 30;
  const float x = float(int(turns - (quarter << 30))) * 1.46291808e-9;  // 2 pi / 2^32
  const float z = x * x;
  const float s = x + x * z * (-1.0 / 6 + z * (1.0 / 120 + z * (-1.0 / 5040 + z * (1.0 / 362880))));
  const float c =
      1 + z * (-0.5 + z * (1.0 / 24 + z * (-1.0 / 720 + z * (1.0 / 40320 - z * (1.0 / 3628800)))));
  switch (quarter & 3) {
    case 0: return vec2(c, s);
    case 1: return vec2(-s, c);
    case 2: return vec2(-c, -s);
    default: return vec2(s, -c);
  }
}
