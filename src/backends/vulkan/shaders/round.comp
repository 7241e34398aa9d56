// round: a workgroup for each segment of a row, which becomes values of few bits times one scale (tenon/backend.h,
// tenon_round_params). Powers of two are read from exponents, so that what is exact stays so.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "math.glsl"
#include "reduce.glsl"

layout(buffer_reference, scalar) readonly buffer Parameters { RoundStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

const uint kFp8 = 0;  // TENON_ROUND_*
const uint kFp4 = 1;

// Steps of 2^-mantissa from 2^exponent on, and below it the same.
struct SmallFloat {
  int mantissa, exponent;
  float largest;
};
const SmallFloat kE4M3 = SmallFloat(3, -6, 448.0);
const SmallFloat kE2M1 = SmallFloat(1, 0, 6.0);

int exponent_of(float x) { return int(floatBitsToUint(x) >> 23 & 255u) - 127; }

// The value of the format nearest to x, the even one of two; the largest for what is beyond it.
float nearest(SmallFloat format, float x) {
  const float size = abs(x);
  float y = format.largest;
  if (size < format.largest) {
    const int power = max(exponent_of(size), format.exponent) - format.mantissa;
    y = roundEven(size * power_of_two(-power)) * power_of_two(power);
  }
  return uintBitsToFloat(floatBitsToUint(y) | (floatBitsToUint(x) & 0x80000000u));
}

// The least power of two that is not below x / (m 2^e), for normal x and 1 <= m < 2.
float power_from(float x, float m, int e) {
  const float fraction = uintBitsToFloat((floatBitsToUint(x) & 0x007FFFFFu) | 0x3F800000u);
  return power_of_two(exponent_of(x) - e + (fraction > m ? 1 : 0));
}

float scale_of(float most) {
  if (STAGE.format == kFp8) return power_from(max(most, 1e-4), 1.75, 8);
  if (STAGE.format == kFp4) return power_from(max(most, 6 * power_of_two(-126)), 1.5, 2);
  return nearest(kE4M3, max(most, 6 * power_of_two(-9)) / 6);
}

void main() {
  SmallFloat format = kE2M1;
  if (STAGE.format == kFp8) format = kE4M3;
  for (uint s = gl_WorkGroupID.x; s < STAGE.columns / STAGE.segment; s += gl_NumWorkGroups.x) {
    const uint first = gl_WorkGroupID.y * STAGE.columns + s * STAGE.segment;
    float most = 0;
    for (uint i = gl_LocalInvocationID.x; i < STAGE.segment; i += kThreads) {
      most = max(most, abs(Floats(STAGE.x).at[first + i]));
    }
    const float scale = scale_of(group_max(most));
    for (uint i = gl_LocalInvocationID.x; i < STAGE.segment; i += kThreads) {
      Floats(STAGE.y).at[first + i] = nearest(format, Floats(STAGE.x).at[first + i] / scale) * scale;
    }
  }
}
