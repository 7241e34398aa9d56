// moe_linear: a subgroup for each row of the result and column of an expert's matrix; where the results
// of the experts are added up, it goes through them in the order of choice.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"
#include "weights.glsl"

layout(buffer_reference, scalar) readonly buffer Parameters { MoeLinearStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

float product(uint token, uint choice, uint expert, uint n) {
  Floats x = Floats(STAGE.x);
  const uint columns = STAGE.columns;
  const uint part = token * STAGE.x_columns + (STAGE.x_columns == columns ? 0 : choice * columns);
  const Address weights =
      STAGE.weight + (Address(expert) * STAGE.rows + n) * STAGE.row_bytes;
  float sum = 0;
  for (uint c = 8 * gl_SubgroupInvocationID; c < columns; c += 8 * gl_SubgroupSize) {
    float w[8];
    decode8(weights, c, STAGE.grids, w);
    for (uint i = 0; i < 8; ++i) {
      if (kBlockValues > 1 || c + i < columns) sum += w[i] * x.at[part + c + i];
    }
  }
  return subgroup_sum(sum);
}

// What choice number `choice` of a token gives in column n.
float weighed(uint token, uint choice, uint n) {
  const uint at = token * STAGE.used + choice;
  const uint expert = Words(STAGE.ids).at[at];
  const float w = STAGE.weights == 0 ? 1 : Floats(STAGE.weights).at[at];
  const float b = STAGE.bias == 0 ? 0 : Floats(STAGE.bias).at[expert * STAGE.rows + n];
  const float y = product(token, choice, expert, n);
  return STAGE.weigh_inputs != 0 ? w * y + b : w * (y + b);
}

void main() {
  const uint token = gl_WorkGroupID.y;
  Floats y = Floats(STAGE.y);
  const uint columns = STAGE.sum != 0 ? STAGE.rows : STAGE.used * STAGE.rows;
  const uint subgroups = gl_NumWorkGroups.x * gl_NumSubgroups;
  for (uint column = gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID; column < columns;
       column += subgroups) {
    float result = 0;
    if (STAGE.sum != 0) {
      for (uint choice = 0; choice < STAGE.used; ++choice) result += weighed(token, choice, column);
    } else {
      result = weighed(token, column / STAGE.rows, column % STAGE.rows);
    }
    if (gl_SubgroupInvocationID == 0) y.at[token * columns + column] = result;
  }
}
