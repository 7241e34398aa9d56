// pack_rows: a group per row of x, converted to f16 in the order in which lanes multiply it
// (PackRowsStage). A thread packs 32 columns at a time.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "backends/gpu/kernels/reduce.inl"

TENON_STAGE(PackRowsStage)

layout(buffer_reference, scalar, buffer_reference_align = 16) writeonly buffer Quads { uvec4 at[]; };

const uint kLoadColumns = 32;
const uint kUnitColumns = 256;

// 2^n that brings the largest value to [2^14, 2^15); 1 for a row of zeros or with a non-finite
// value. n is at most 126, so 2^-n is not denormal.
float scale_of(float largest) {
  const uint exponent = floatBitsToUint(largest) >> 23;
  if (largest == 0 || exponent == 255) return 1;
  const uint wanted = 127 + 14;
  return uintBitsToFloat(min(wanted + 127 - exponent, 253) << 23);
}

uint half_of(uint row, uint column, float scale) {
  if (column >= stage.columns) return 0;
  return float_to_half(Floats(stage.x).at[row * stage.columns + column] * scale);
}

// Packs columns [32 load, 32 load + 32) of the row as two products of 16 columns: lane 4 row + j
// holds columns 2 j, 2 j + 1, 2 j + 8 and 2 j + 9 of each.
void pack_load(uint row, uint load, uint loads, float scale) {
  const uint of_tile = row % kRowUnitRows;
  const Address to =
      stage.units + (Address(row / kRowUnitRows) * (loads / 2) + load / 2) * kRowQuarterBytes;
  Quads lanes = Quads(to + load % 2 * (kRowFragmentBytes / 2));
  float sum = 0;
  for (uint j = 0; j < 4; ++j) {
    uvec4 words;
    for (uint i = 0; i < 4; ++i) {
      const uint column = load * kLoadColumns + 2 * j + 8 * i;
      const uint low = half_of(row, column, scale);
      const uint high = half_of(row, column + 1, scale);
      words[i] = low | high << 16;
      sum += half_to_float(low) + half_to_float(high);
    }
    lanes.at[of_tile * 4 + j] = words;
  }
  Floats(to + kRowFragmentBytes).at[load % 2 * kRowUnitRows + of_tile] = sum;
}

void main() {
  const uint row = gl_WorkGroupID.y;
  float largest = 0;
  for (uint i = gl_LocalInvocationIndex; i < stage.columns; i += kThreads) {
    const float x = abs(Floats(stage.x).at[row * stage.columns + i]);
    largest = max(largest, is_nan(x) ? infinity() : x);
  }
  largest = group_max(largest);
  const float scale = scale_of(largest);
  if (gl_LocalInvocationIndex == 0) Floats(stage.factors).at[row] = 1 / scale;
  const uint loads = (stage.columns + kUnitColumns - 1) / kUnitColumns * (kUnitColumns / kLoadColumns);
  for (uint load = gl_LocalInvocationIndex; load < loads; load += kThreads) {
    pack_load(row, load, loads, scale);
  }
}
