// ssm_scan (arXiv 2312.00752, 2405.21060): a thread for each row p of a head's state [p, N].
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "math.glsl"
#include "state.glsl"

layout(buffer_reference, scalar) readonly buffer Parameters { SsmScanStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

void scan(SequenceSpan span, States states, uint column) {
  const uint head = column / STAGE.head_dim;
  const uint size = STAGE.size;
  const uint group = head / (STAGE.heads / STAGE.groups);
  const uint columns = STAGE.heads * STAGE.head_dim;
  Floats a = Floats(STAGE.a);
  Floats state = Floats(states.to);
  for (uint n = 0; n < size; ++n) begin_state(states, column * size + n);
  for (uint t = span.first_token; t < span.first_token + span.num_tokens; ++t) {
    const float x = Floats(STAGE.x).at[t * columns + column];
    const float dt = Floats(STAGE.dt).at[t * STAGE.heads + head];
    const uint row = (t * STAGE.groups + group) * size;
    float y = STAGE.d == 0 ? 0 : Floats(STAGE.d).at[head] * x;
    for (uint n = 0; n < size; ++n) {
      const float decay = exp_of(dt * a.at[head * STAGE.decays + (STAGE.decays == 1 ? 0 : n)]);
      const float next = decay * state.at[column * size + n] + dt * x * Floats(STAGE.b).at[row + n];
      y += next * Floats(STAGE.c).at[row + n];
      state.at[column * size + n] = next;
    }
    Floats(STAGE.y).at[t * columns + column] = y;
  }
}

void main() {
  const uint sequence = gl_WorkGroupID.y;
  Step step = Step(STAGE.step);
  const SequenceSpan span = Spans(step.header.spans).at[sequence];
  if (span.num_tokens == 0) return;
  const States states = states_of(step, STAGE.state, sequence);
  const uint columns = STAGE.heads * STAGE.head_dim;
  for (uint c = gl_GlobalInvocationID.x; c < columns; c += gl_NumWorkGroups.x * kThreads) {
    scan(span, states, c);
  }
}
