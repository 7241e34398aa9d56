// rms_norm, layer_norm and l2_norm: a workgroup for each segment of a row.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"

layout(buffer_reference, scalar) readonly buffer Parameters { NormStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

// Sum of (x - mean)^2 over a segment.
float sum_of_squares(Floats x, uint first, float mean) {
  float sum = 0;
  for (uint i = gl_LocalInvocationID.x; i < STAGE.segment; i += kThreads) {
    const float d = x.at[first + i] - mean;
    sum += d * d;
  }
  return group_sum(sum);
}

void normalise(uint first) {
  Floats x = Floats(STAGE.x);
  float mean = 0;
  if (STAGE.kind == kOpLayerNorm) {
    float sum = 0;
    for (uint i = gl_LocalInvocationID.x; i < STAGE.segment; i += kThreads) sum += x.at[first + i];
    mean = group_sum(sum) / float(STAGE.segment);
  }
  const float squares = sum_of_squares(x, first, mean);
  const bool is_mean = STAGE.kind == kOpRmsNorm || STAGE.kind == kOpLayerNorm;
  const float size = is_mean ? sqrt(squares / float(STAGE.segment) + STAGE.epsilon)
                             : max(sqrt(squares), STAGE.epsilon);
  for (uint i = gl_LocalInvocationID.x; i < STAGE.segment; i += kThreads) {
    float y = (x.at[first + i] - mean) / size;
    if (STAGE.weight != 0) y *= Floats(STAGE.weight).at[i];
    if (STAGE.bias != 0) y += Floats(STAGE.bias).at[i];
    Floats(STAGE.y).at[first + i] = y;
  }
}

void main() {
  const uint row = gl_WorkGroupID.y * STAGE.columns;
  for (uint i = gl_WorkGroupID.x; i < STAGE.columns / STAGE.segment; i += gl_NumWorkGroups.x) {
    normalise(row + i * STAGE.segment);
  }
}
