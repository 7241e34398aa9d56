// rope: pairs of each head turned by the angles of the row; what is in no pair is copied.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(buffer_reference, scalar) readonly buffer Parameters { RopeStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

float rotated(Floats x, uint head, uint d, Floats angles, uint angle_row) {
  const float own = x.at[head + d];
  if (d < STAGE.offset || d >= STAGE.offset + 2 * STAGE.pairs) return own;
  const uint place = d - STAGE.offset;
  const bool second = STAGE.halves != 0 ? place >= STAGE.pairs : place % 2 == 1;
  const uint pair = STAGE.halves != 0 ? place % STAGE.pairs : place / 2;
  const uint far = STAGE.halves != 0 ? STAGE.pairs : 1;
  const float other = x.at[head + (second ? d - far : d + far)];
  const float cosine = angles.at[angle_row + pair];
  const float sine = angles.at[angle_row + STAGE.pairs + pair];
  return second ? other * sine + own * cosine : own * cosine - other * sine;
}

void main() {
  const uint row = gl_WorkGroupID.y;
  Floats angles = Floats(STAGE.angles);
  for (uint c = gl_GlobalInvocationID.x; c < STAGE.columns; c += gl_NumWorkGroups.x * kThreads) {
    const uint d = c % STAGE.head_dim;
    const float y =
        rotated(Floats(STAGE.x), row * STAGE.columns + c - d, d, angles, row * 2 * STAGE.pairs);
    Floats(STAGE.y).at[row * STAGE.columns + c] = y;
  }
}
