// delta_rule (arXiv 2412.06464, 2510.26692): a thread for each column of a head's state [dk, dv].
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "math.glsl"
#include "state.glsl"

layout(buffer_reference, scalar) readonly buffer Parameters { DeltaRuleStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

float kept_share(uint t, uint head, uint i) {
  const uint place = t * STAGE.value_heads + head;
  const uint at = STAGE.decay_of_channels != 0 ? place * STAGE.key_dim + i : place;
  return exp_of(Floats(STAGE.decay).at[at]);
}

void run(SequenceSpan span, States states, uint column) {
  const uint head = column / STAGE.value_dim;
  const uint first = head * STAGE.key_dim * STAGE.value_dim + column % STAGE.value_dim;
  const uint key_head = STAGE.interleaved != 0 ? head % STAGE.key_heads
                                               : head / (STAGE.value_heads / STAGE.key_heads);
  const uint columns = STAGE.value_heads * STAGE.value_dim;
  Floats k = Floats(STAGE.k);
  Floats state = Floats(states.to);
  for (uint i = 0; i < STAGE.key_dim; ++i) begin_state(states, first + i * STAGE.value_dim);
  for (uint t = span.first_token; t < span.first_token + span.num_tokens; ++t) {
    const uint row = (t * STAGE.key_heads + key_head) * STAGE.key_dim;
    float read = 0;
    for (uint i = 0; i < STAGE.key_dim; ++i) {
      read += kept_share(t, head, i) * state.at[first + i * STAGE.value_dim] * k.at[row + i];
    }
    const float beta = Floats(STAGE.beta).at[t * STAGE.value_heads + head];
    const float change = beta * (Floats(STAGE.v).at[t * columns + column] - read);
    float y = 0;
    for (uint i = 0; i < STAGE.key_dim; ++i) {
      const uint place = first + i * STAGE.value_dim;
      const float next = kept_share(t, head, i) * state.at[place] + k.at[row + i] * change;
      y += next * Floats(STAGE.q).at[row + i];
      state.at[place] = next;
    }
    Floats(STAGE.y).at[t * columns + column] = STAGE.scale * y;
  }
}

void main() {
  const uint sequence = gl_WorkGroupID.y;
  Step step = Step(STAGE.step);
  const SequenceSpan span = Spans(step.header.spans).at[sequence];
  if (span.num_tokens == 0) return;
  const States states = states_of(step, STAGE.state, sequence);
  const uint columns = STAGE.value_heads * STAGE.value_dim;
  for (uint c = gl_GlobalInvocationID.x; c < columns; c += gl_NumWorkGroups.x * kThreads) {
    run(span, states, c);
  }
}
