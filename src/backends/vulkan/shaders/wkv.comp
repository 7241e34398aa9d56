// wkv7 (arXiv 2503.14456), wkv6 (arXiv 2404.05892) and gated linear attention (arXiv 2312.06635): a thread
// for each value of a head, which has a row of the state [value, key], or a column of [key, value].
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "state.glsl"

layout(constant_id = 1) const uint kOperation = 30;  // TENON_OP_*

layout(buffer_reference, scalar) readonly buffer Parameters { WkvStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

float wkv7(Floats state, uint first, uint value, uint keys) {
  const float v = Floats(STAGE.v).at[value];
  float read = 0;
  for (uint j = 0; j < STAGE.dim; ++j) read += state.at[first + j] * Floats(STAGE.a).at[keys + j];
  float y = 0;
  for (uint j = 0; j < STAGE.dim; ++j) {
    const float next = state.at[first + j] * Floats(STAGE.w).at[keys + j] +
                       read * Floats(STAGE.b).at[keys + j] + v * Floats(STAGE.k).at[keys + j];
    y += next * Floats(STAGE.r).at[keys + j];
    state.at[first + j] = next;
  }
  return y;
}

// bonus: where that of the head begins.
float wkv6(Floats state, uint first, uint value, uint keys, uint bonus) {
  const float v = Floats(STAGE.v).at[value];
  float y = 0;
  for (uint i = 0; i < STAGE.dim; ++i) {
    const uint place = first + i * STAGE.dim;
    const float kept = state.at[place];
    const float added = Floats(STAGE.k).at[keys + i] * v;
    const float next = Floats(STAGE.w).at[keys + i] * kept + added;
    const float read = STAGE.bonus == 0 ? next : kept + Floats(STAGE.bonus).at[bonus + i] * added;
    y += Floats(STAGE.r).at[keys + i] * read;
    state.at[place] = next;
  }
  return y;
}

void main() {
  const uint sequence = gl_WorkGroupID.y;
  Step step = Step(STAGE.step);
  const SequenceSpan span = Spans(step.header.spans).at[sequence];
  if (span.num_tokens == 0) return;
  const States states = states_of(step, STAGE.state, sequence);
  const uint dim = STAGE.dim;
  const uint columns = STAGE.heads * dim;
  for (uint c = gl_GlobalInvocationID.x; c < columns; c += gl_NumWorkGroups.x * kThreads) {
    const uint head = c / dim;
    const bool by_rows = kOperation == kOpWkv7;
    const uint first = head * dim * dim + (by_rows ? c % dim * dim : c % dim);
    for (uint i = 0; i < dim; ++i) begin_state(states, first + i * (by_rows ? 1 : dim));
    for (uint t = span.first_token; t < span.first_token + span.num_tokens; ++t) {
      const uint keys = t * columns + head * dim;
      const uint value = t * columns + c;
      const float y = by_rows ? wkv7(Floats(states.to), first, value, keys)
                              : wkv6(Floats(states.to), first, value, keys, head * dim);
      Floats(STAGE.y).at[value] = y;
    }
  }
}
