// pool: a thread for each column of a sequence.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(buffer_reference, scalar) readonly buffer Parameters { PoolStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

const uint kMean = 0;
const uint kFirst = 1;

void main() {
  const uint sequence = gl_WorkGroupID.y;
  const SequenceSpan span = Spans(Step(STAGE.step).header.spans).at[sequence];
  Floats x = Floats(STAGE.x);
  for (uint c = gl_GlobalInvocationID.x; c < STAGE.columns; c += gl_NumWorkGroups.x * kThreads) {
    float y = 0;
    if (span.num_tokens > 0 && STAGE.kind == kMean) {
      for (uint t = 0; t < span.num_tokens; ++t) {
        y += x.at[(span.first_token + t) * STAGE.columns + c];
      }
      y /= float(span.num_tokens);
    } else if (span.num_tokens > 0) {
      const uint t = STAGE.kind == kFirst ? 0 : span.num_tokens - 1;
      y = x.at[(span.first_token + t) * STAGE.columns + c];
    }
    Floats(STAGE.y).at[sequence * STAGE.columns + c] = y;
  }
}
