// embed, ngram_rows and gather_rows: rows of a table by numbers that the step brings.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "weights.glsl"

layout(buffer_reference, scalar) readonly buffer Parameters { RowsStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

uint token_of(uint row) {
  Step step = Step(STAGE.step);
  const int token = Ints(step.header.token_ids).at[row];
  return uint(token >= 0 ? token : Ints(step.header.drawn_tokens).at[-1 - token]);
}

uint number_of(uint row, uint head) {
  Step step = Step(STAGE.step);
  switch (STAGE.source) {
    case kRowsByToken: return token_of(row);
    case kRowsByPosition: return uint(Ints(step.header.positions).at[row * STAGE.position_parts]);
    case kRowsByOutput: return Words(step.header.output_rows).at[row];
    default:
      return Words(step.header.ngram_rows)
          .at[step.header.tokens * STAGE.first_number + row * STAGE.heads + head];
  }
}

void main() {
  const uint row = gl_WorkGroupID.y;
  const uint columns = STAGE.columns;
  Floats y = Floats(STAGE.y);
  for (uint head = 0; head < STAGE.heads; ++head) {
    const Address from = STAGE.table + number_of(row, head) * STAGE.row_bytes;
    const uint to = (row * STAGE.heads + head) * columns;
    for (uint c = 8 * gl_GlobalInvocationID.x; c < columns; c += 8 * gl_NumWorkGroups.x * kThreads) {
      float w[8];
      decode8(from, c, STAGE.grids, w);
      for (uint i = 0; i < 8 && c + i < columns; ++i) y.at[to + c + i] = w[i];
    }
  }
}
