// round: a group per segment of a row, which becomes values of few bits times one scale
// (tenon/backend.h, tenon_round_params). Powers of two are read from exponents, so exact values
// stay exact.
#include "backends/gpu/kernels/reduce.inl"

// Format with steps of 2^-mantissa from 2^exponent on, and equal steps below it.
struct SmallFloat {
  int mantissa, exponent;
  float largest;
};
TENON_DEVICE SmallFloat e4m3() { return TENON_MAKE(SmallFloat)(3, -6, 448.0f); }
TENON_DEVICE SmallFloat e2m1() { return TENON_MAKE(SmallFloat)(1, 0, 6.0f); }

TENON_DEVICE int exponent_of(float x) { return int(float_to_bits(x) >> 23 & 255u) - 127; }

// Value of the format nearest to x, ties to even; the largest value for larger x.
TENON_DEVICE float nearest(SmallFloat format, float x) {
  const float size = absolute(x);
  float y = format.largest;
  if (size < format.largest) {
    const int power = larger(exponent_of(size), format.exponent) - format.mantissa;
    y = round_even(size * power_of_two(-power)) * power_of_two(power);
  }
  return bits_to_float(float_to_bits(y) | (float_to_bits(x) & 0x80000000u));
}

// Least power of two that is not below x / (m 2^e), for normal x and 1 <= m < 2.
TENON_DEVICE float power_from(float x, float m, int e) {
  const float fraction = bits_to_float((float_to_bits(x) & 0x007FFFFFu) | 0x3F800000u);
  return power_of_two(exponent_of(x) - e + (fraction > m ? 1 : 0));
}

TENON_DEVICE float scale_of(float most) {
  if (stage.format == kRoundFp8) return power_from(larger(most, 1e-4f), 1.75f, 8);
  if (stage.format == kRoundFp4) return power_from(larger(most, 6 * power_of_two(-126)), 1.5f, 2);
  return nearest(e4m3(), larger(most, 6 * power_of_two(-9)) / 6);
}

TENON_DEVICE void run() {
  SmallFloat format = e2m1();
  if (stage.format == kRoundFp8) format = e4m3();
  for (uint s = group_x(); s < stage.columns / stage.segment; s += num_groups()) {
    const uint first = group_y() * stage.columns + s * stage.segment;
    float most = 0;
    for (uint i = thread_number(); i < stage.segment; i += num_threads()) {
      most = larger(most, absolute(Floats(stage.x).at[first + i]));
    }
    const float scale = scale_of(group_max(most));
    for (uint i = thread_number(); i < stage.segment; i += num_threads()) {
      Floats(stage.y).at[first + i] =
          nearest(format, Floats(stage.x).at[first + i] / scale) * scale;
    }
  }
}
