// conv and token_shift, which is a filter of the row before alone: a thread for each column of a sequence.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "state.glsl"

layout(buffer_reference, scalar) readonly buffer Parameters { ConvStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

void filter_column(SequenceSpan span, States states, uint c) {
  const uint columns = STAGE.columns;
  const uint kept = STAGE.taps - 1;  // rows of the state
  Floats x = Floats(STAGE.x);
  Floats state = Floats(states.to);
  for (uint i = 0; i < kept; ++i) begin_state(states, i * columns + c);
  for (uint t = span.first_token; t < span.first_token + span.num_tokens; ++t) {
    const float now = x.at[t * columns + c];
    float y;
    if (STAGE.weight == 0) {
      y = state.at[c];
    } else {
      Floats weight = Floats(STAGE.weight);
      y = STAGE.bias == 0 ? 0 : Floats(STAGE.bias).at[c];
      for (uint i = 0; i < kept; ++i) y += weight.at[c * STAGE.taps + i] * state.at[i * columns + c];
      y += weight.at[c * STAGE.taps + kept] * now;
    }
    Floats(STAGE.y).at[t * columns + c] = y;
    for (uint i = 0; i + 1 < kept; ++i) state.at[i * columns + c] = state.at[(i + 1) * columns + c];
    if (kept > 0) state.at[(kept - 1) * columns + c] = now;
  }
}

void main() {
  const uint sequence = gl_WorkGroupID.y;
  Step step = Step(STAGE.step);
  const SequenceSpan span = Spans(step.header.spans).at[sequence];
  if (span.num_tokens == 0) return;
  const States states = states_of(step, STAGE.state, sequence);
  for (uint c = gl_GlobalInvocationID.x; c < STAGE.columns; c += gl_NumWorkGroups.x * kThreads) {
    filter_column(span, states, c);
  }
}
