// sum_segments and softmax: a workgroup for each segment of a row.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "math.glsl"
#include "reduce.glsl"

layout(constant_id = 1) const uint kOperation = 19;  // TENON_OP_*

layout(buffer_reference, scalar) readonly buffer Parameters { SegmentsStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

void sum_segment(uint number, uint first) {
  float sum = 0;
  for (uint i = gl_LocalInvocationID.x; i < STAGE.segment; i += kThreads) {
    sum += Floats(STAGE.x).at[first + i];
  }
  sum = group_sum(sum);
  if (gl_LocalInvocationID.x == 0) Floats(STAGE.y).at[number] = sum;
}

void softmax(uint first) {
  Floats x = Floats(STAGE.x);
  float largest = -kInfinity;
  for (uint i = gl_LocalInvocationID.x; i < STAGE.segment; i += kThreads) {
    largest = max(largest, x.at[first + i]);
  }
  largest = group_max(largest);
  float sum = 0;
  for (uint i = gl_LocalInvocationID.x; i < STAGE.segment; i += kThreads) {
    sum += exp_of(x.at[first + i] - largest);
  }
  sum = group_sum(sum);
  for (uint i = gl_LocalInvocationID.x; i < STAGE.segment; i += kThreads) {
    Floats(STAGE.y).at[first + i] = exp_of(x.at[first + i] - largest) / sum;
  }
}

void main() {
  const uint segments = STAGE.columns / STAGE.segment;
  const uint row = gl_WorkGroupID.y;
  for (uint s = gl_WorkGroupID.x; s < segments; s += gl_NumWorkGroups.x) {
    const uint first = row * STAGE.columns + s * STAGE.segment;
    if (kOperation == kOpSoftmax) softmax(first);
    else sum_segment(row * segments + s, first);
  }
}
