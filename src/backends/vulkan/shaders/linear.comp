// linear and linear_heads: a subgroup for kRows weight rows and kTokens rows of x, its lanes along
// the columns. A lane decodes its part of each weight row once for all rows of x, and holds its
// part of x for all weight rows: one row suits decodes, many suit prompts. A lane's additions and
// the tree over lanes do not depend on these counts.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "weights.glsl"

layout(constant_id = 4) const uint kTile = 4;
const uint kTokens = kTile % 16;
const uint kRows = 1 + kTile / 16;

TENON_STAGE(LinearStage)

layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer Quads { vec4 at[]; };

// Loads values [c, c + 8) of a row of x; 0 past its end.
//   at       index of the row's first value
//   aligned  true if values are at multiples of 16 bytes
void load_x(uint at, uint c, bool aligned, out float x[8]) {
  if (aligned && c + 8 <= stage.columns) {
    Quads quads = Quads(stage.x + at * 4ul);
    for (uint i = 0; i < 4; ++i) {
      x[i] = quads.at[0][i];
      x[4 + i] = quads.at[1][i];
    }
    return;
  }
  for (uint i = 0; i < 8; ++i) x[i] = c + i < stage.columns ? Floats(stage.x).at[at + i] : 0;
}

// Multiplies rows [row, row + kRows) with rows [first, first + count) of x.
void multiply_rows(uint row, uint first, uint count) {
  const uint columns = stage.columns;
  const uint part = first * stage.x_columns + row / stage.rows_of_head * columns;
  const bool aligned = ((columns | stage.x_columns) & 3) == 0 && (stage.x & 15) == 0;
  const uint rows = min(kRows, stage.rows - row);
  float sums[kRows][kTokens];
  [[unroll]] for (uint r = 0; r < kRows; ++r) {
    [[unroll]] for (uint t = 0; t < kTokens; ++t) sums[r][t] = 0;
  }
  for (uint c = 8 * gl_SubgroupInvocationID; c < columns; c += 8 * gl_SubgroupSize) {
    float x[kTokens][8];
    [[unroll]] for (uint t = 0; t < kTokens; ++t) {
      // Repeats the last row for missing rows, whose results are dropped.
      load_x(part + min(t, count - 1) * stage.x_columns + c, c, aligned, x[t]);
    }
    [[unroll]] for (uint r = 0; r < kRows; ++r) {
      float w[8];
      decode8(stage.weight + (row + min(r, rows - 1)) * stage.row_bytes, c, stage.grids, w);
      if (kBlockValues == 1 && c + 8 > columns) {
        for (uint i = 0; i < 8; ++i) w[i] = c + i < columns ? w[i] : 0;
      }
      [[unroll]] for (uint t = 0; t < kTokens; ++t) {
        [[unroll]] for (uint i = 0; i < 8; ++i) sums[r][t] = fma(w[i], x[t][i], sums[r][t]);
      }
    }
  }
  [[unroll]] for (uint r = 0; r < kRows; ++r) {
    const float bias = stage.bias == 0 || r >= rows ? 0 : Floats(stage.bias).at[row + r];
    [[unroll]] for (uint t = 0; t < kTokens; ++t) {
      const float sum = warp_sum(sums[r][t]);
      if (r < rows && t < count && gl_SubgroupInvocationID == 0) {
        Floats(stage.y).at[(first + t) * stage.rows + row + r] = sum + bias;
      }
    }
  }
}

void main() {
  const uint first = gl_WorkGroupID.y * kTokens;
  const uint count = min(kTokens, rows_of(Step(stage.step), stage.row_class) - first);
  const uint stride = gl_NumWorkGroups.x * gl_NumSubgroups * kRows;
  for (uint row = (gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID) * kRows; row < stage.rows;
       row += stride) {
    multiply_rows(row, first, count);
  }
}
