// rope_angles. An angle is a product of integers: the position, and the turns of a position as a binary
// fraction of 64 bits. What is left of it after whole turns is exact, so no f64 is needed.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "math.glsl"

layout(buffer_reference, scalar) readonly buffer Parameters { RopeAnglesStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

void main() {
  const uint row = gl_WorkGroupID.y;
  Ints positions = Ints(Step(STAGE.step).header.positions);
  for (uint i = gl_GlobalInvocationID.x; i < STAGE.pairs; i += gl_NumWorkGroups.x * kThreads) {
    const uint part = Words(STAGE.parts).at[i];
    const int64_t position = int64_t(positions.at[row * STAGE.position_parts + part]) + STAGE.offset;
    const uint64_t turns = uint64_t(position) * Addresses(STAGE.turns).at[i];
    const vec2 y = STAGE.magnitude * cos_sin_of_turns(uint(turns >> 32));
    Floats(STAGE.y).at[row * 2 * STAGE.pairs + i] = y.x;
    Floats(STAGE.y).at[row * 2 * STAGE.pairs + STAGE.pairs + i] = y.y;
  }
}
