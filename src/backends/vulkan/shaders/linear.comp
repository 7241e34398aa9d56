// linear and linear_heads: a subgroup for each row of the weight, its lanes side by side along the
// columns; each value of the weight is decoded once for kTokens rows of x.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"
#include "weights.glsl"

layout(constant_id = 4) const uint kTokens = 4;

layout(buffer_reference, scalar) readonly buffer Parameters { LinearStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

void multiply_row(uint row, uint first, uint count) {
  Floats x = Floats(STAGE.x);
  const Address weights = STAGE.weight + row * STAGE.row_bytes;
  const uint columns = STAGE.columns;
  const uint part = first * STAGE.x_columns + row / STAGE.rows_of_head * columns;
  float sums[kTokens];
  for (uint t = 0; t < kTokens; ++t) sums[t] = 0;
  for (uint c = 8 * gl_SubgroupInvocationID; c < columns; c += 8 * gl_SubgroupSize) {
    float w[8];
    decode8(weights, c, STAGE.grids, w);
    for (uint t = 0; t < kTokens; ++t) {
      if (t >= count) break;
      const uint at = part + t * STAGE.x_columns + c;
      for (uint i = 0; i < 8; ++i) {
        if (kBlockValues > 1 || c + i < columns) sums[t] += w[i] * x.at[at + i];
      }
    }
  }
  const float bias = STAGE.bias == 0 ? 0 : Floats(STAGE.bias).at[row];
  for (uint t = 0; t < kTokens; ++t) {
    const float sum = subgroup_sum(sums[t]);
    if (t < count && gl_SubgroupInvocationID == 0) {
      Floats(STAGE.y).at[(first + t) * STAGE.rows + row] = sum + bias;
    }
  }
}

void main() {
  const uint first = gl_WorkGroupID.y * kTokens;
  const uint count = min(kTokens, rows_of(Step(STAGE.step), STAGE.row_class) - first);
  const uint subgroups = gl_NumWorkGroups.x * gl_NumSubgroups;
  for (uint row = gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID; row < STAGE.rows;
       row += subgroups) {
    multiply_row(row, first, count);
  }
}
