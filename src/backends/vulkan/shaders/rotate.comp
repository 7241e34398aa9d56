// Segments of rows rotated as the rows of a 4-bit cache are, so that products with those need no
// unpacking: q.k = (Hq).(Hk).
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint kColumns = 64;  // at least a segment

layout(buffer_reference, scalar) readonly buffer Parameters { RotateStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

shared float rotated[kColumns];
#include "rotate.glsl"

void main() {
  for (uint s = gl_WorkGroupID.x; s < STAGE.columns / STAGE.segment; s += gl_NumWorkGroups.x) {
    const uint first = gl_WorkGroupID.y * STAGE.columns + s * STAGE.segment;
    barrier();
    for (uint i = gl_LocalInvocationID.x; i < STAGE.segment; i += kThreads) {
      rotated[i] = Floats(STAGE.x).at[first + i];
    }
    rotate(STAGE.segment);
    for (uint i = gl_LocalInvocationID.x; i < STAGE.segment; i += kThreads) {
      Floats(STAGE.y).at[first + i] = rotated[i];
    }
  }
}
