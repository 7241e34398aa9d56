// sinkhorn: a workgroup for each matrix, a thread for each of its rows and columns in turn.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "math.glsl"

layout(buffer_reference, scalar) readonly buffer Parameters { SinkhornStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

// Rows become softmax + epsilon.
void soften(uint matrix) {
  Floats x = Floats(STAGE.x);
  SharedFloats y = SharedFloats(STAGE.y);
  for (uint i = gl_LocalInvocationID.x; i < STAGE.size; i += kThreads) {
    const uint first = matrix + i * STAGE.size;
    float largest = -kInfinity;
    for (uint j = 0; j < STAGE.size; ++j) largest = max(largest, x.at[first + j]);
    float sum = 0;
    for (uint j = 0; j < STAGE.size; ++j) sum += exp_of(x.at[first + j] - largest);
    for (uint j = 0; j < STAGE.size; ++j) {
      y.at[first + j] = exp_of(x.at[first + j] - largest) / sum + STAGE.epsilon;
    }
  }
}

// Divides each line, `step` from one value to the next, by its sum + epsilon.
void divide(uint matrix, uint line_step, uint step) {
  SharedFloats y = SharedFloats(STAGE.y);
  memoryBarrierBuffer();
  barrier();
  for (uint i = gl_LocalInvocationID.x; i < STAGE.size; i += kThreads) {
    float sum = STAGE.epsilon;
    for (uint k = 0; k < STAGE.size; ++k) sum += y.at[matrix + i * line_step + k * step];
    for (uint k = 0; k < STAGE.size; ++k) y.at[matrix + i * line_step + k * step] /= sum;
  }
}

void main() {
  const uint matrix = gl_WorkGroupID.y * STAGE.size * STAGE.size;
  soften(matrix);
  divide(matrix, 1, STAGE.size);
  for (uint i = 1; i < STAGE.iterations; ++i) {
    divide(matrix, STAGE.size, 1);
    divide(matrix, 1, STAGE.size);
  }
}
