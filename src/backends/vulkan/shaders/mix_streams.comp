// mix_streams: a thread for each column of the streams of a row.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(buffer_reference, scalar) readonly buffer Parameters { MixStreamsStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

float share(uint row, uint stream, uint result) {
  if (STAGE.matrix == 0) return STAGE.results == 1 || stream == result ? 1 : 0;
  return Floats(STAGE.matrix).at[(row * STAGE.streams + stream) * STAGE.results + result];
}

void main() {
  const uint row = gl_WorkGroupID.y;
  const uint width = STAGE.width;
  for (uint c = gl_GlobalInvocationID.x; c < width; c += gl_NumWorkGroups.x * kThreads) {
    for (uint i = 0; i < STAGE.results; ++i) {
      float sum = 0;
      for (uint j = 0; j < STAGE.streams; ++j) {
        sum += share(row, j, i) * Floats(STAGE.x).at[(row * STAGE.streams + j) * width + c];
      }
      if (STAGE.added != 0) {
        sum += Floats(STAGE.factors).at[row * STAGE.results + i] *
               Floats(STAGE.added).at[row * width + c];
      }
      Floats(STAGE.y).at[(row * STAGE.results + i) * width + c] = sum;
    }
  }
}
