// slice and concat: each segment of the result is columns of a segment of x, then one of y.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(buffer_reference, scalar) readonly buffer Parameters { ColumnsStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

void main() {
  const uint row = gl_WorkGroupID.y;
  const uint size = STAGE.x_columns + STAGE.y_segment;
  const uint columns = size * STAGE.segments;
  const uint y_segments = STAGE.y_broadcast != 0 ? 1 : STAGE.segments;
  for (uint c = gl_GlobalInvocationID.x; c < columns; c += gl_NumWorkGroups.x * kThreads) {
    const uint segment = c / size;
    const uint place = c % size;
    float value = 0;
    if (place < STAGE.x_columns) {
      const uint x_row = row * STAGE.segments * STAGE.x_segment;
      value = Floats(STAGE.x).at[x_row + segment * STAGE.x_segment + STAGE.x_first + place];
    } else {
      const uint y_row = row * y_segments * STAGE.y_segment;
      const uint own = STAGE.y_broadcast != 0 ? 0 : segment * STAGE.y_segment;
      value = Floats(STAGE.y).at[y_row + own + place - STAGE.x_columns];
    }
    Floats(STAGE.result).at[row * columns + c] = value;
  }
}
