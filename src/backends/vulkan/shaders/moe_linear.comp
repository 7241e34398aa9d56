// moe_linear: a subgroup per result row and column of an expert's matrix. If the experts' results
// are added up, the subgroup processes them in order of choice.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "weights.glsl"

TENON_STAGE(MoeLinearStage)

float product(uint token, uint choice, uint expert, uint n) {
  Floats x = Floats(stage.x);
  const uint columns = stage.columns;
  const uint part = token * stage.x_columns + (stage.x_columns == columns ? 0 : choice * columns);
  const Address weights =
      stage.weight + (Address(expert) * stage.rows + n) * stage.row_bytes;
  float sum = 0;
  for (uint c = 8 * gl_SubgroupInvocationID; c < columns; c += 8 * gl_SubgroupSize) {
    float w[8];
    decode8(weights, c, stage.grids, w);
    for (uint i = 0; i < 8; ++i) {
      if (kBlockValues > 1 || c + i < columns) sum += w[i] * x.at[part + c + i];
    }
  }
  return warp_sum(sum);
}

// Weighted result of choice number `choice` of a token in column n.
float weighed(uint token, uint choice, uint n) {
  const uint at = token * stage.used + choice;
  const uint expert = Words(stage.ids).at[at];
  const float w = stage.weights == 0 ? 1 : Floats(stage.weights).at[at];
  const float b = stage.bias == 0 ? 0 : Floats(stage.bias).at[expert * stage.rows + n];
  const float y = product(token, choice, expert, n);
  return stage.weigh_inputs != 0 ? w * y + b : w * (y + b);
}

void main() {
  const uint token = gl_WorkGroupID.y;
  Floats y = Floats(stage.y);
  const uint columns = stage.sum != 0 ? stage.rows : stage.used * stage.rows;
  const uint subgroups = gl_NumWorkGroups.x * gl_NumSubgroups;
  for (uint column = gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID; column < columns;
       column += subgroups) {
    float result = 0;
    if (stage.sum != 0) {
      for (uint choice = 0; choice < stage.used; ++choice) result += weighed(token, choice, column);
    } else {
      result = weighed(token, column / stage.rows, column % stage.rows);
    }
    if (gl_SubgroupInvocationID == 0) y.at[token * columns + column] = result;
  }
}
