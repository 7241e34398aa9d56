// linear_wide: products of weights in units with many rows of x. A group computes 128 x 128 values
// of the result, each subgroup several fragments of 16 x 16. Sums use the column parts of
// linear_narrow in the same order, so results have the same bits.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#ifndef TENON_EMULATED
#extension GL_NV_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#endif
#include "unit_linear.glsl"

const uint kGroupRows = 128;  // kWideRows, kWideTokens of gpu/unit_products.h
const uint kGroupTokens = 128;
shared uint weight_tile[kGroupRows * 20];
shared uint x_tile[kGroupTokens * 20];
shared float tile_scales[2 * kGroupRows];  // [groups][rows]
shared float tile_minima[kGroupRows];
shared float x_sums[kGroupTokens];
#include "units.glsl"
#include "matrix.glsl"

// Fragments per subgroup, out of 64, in a rectangle as square as possible.
const uint kFragments = kGroupRows / 16 * (kGroupTokens / 16) / kSubgroups;
const uint kDown = kFragments >= 16 ? 4 : kFragments >= 4 ? 2 : 1;  // along the rows of the weight
const uint kAcross = kFragments / kDown;
const uint kDownOfGroup = kGroupRows / 16 / kDown;  // subgroups along the rows of the weight

// Parts per thread of a load of a tile, and of 8 rows of x.
const uint kWeightItems = kGroupRows / 16 * kLanesOfUnit / kThreads;
const uint kXItems = kGroupTokens / 8 * kLanesOfUnit / kThreads;

// The next load, in flight.
LaneWords fetched_weights[kWeightItems];
uvec4 fetched_x[kXItems];

// A group's first tiles of the weight and of 8 rows of x, and the last existing ones. Past the end,
// the last tile is multiplied again and its results are dropped.
struct Block {
  uint tile;
  uint row_tile;
  uint last_tile;
  uint last_row_tile;
};

Address x_quarter(Block block, uint row_tile, uint load) {
  const uint quarters = stage.units * kLoadsOfUnit / 2;
  const uint tile = min(block.row_tile + row_tile, block.last_row_tile);
  return stage.x + (Address(tile) * quarters + load / 2) * kRowQuarterBytes;
}
LoadPlace weight_place(Block block, uint tile, uint load) {
  return load_place(stage.weight, stage.units, min(block.tile + tile, block.last_tile), load);
}

void fetch(Block block, uint load) {
  [[unroll]] for (uint i = 0; i < kWeightItems; ++i) {
    const uint item = i * kThreads + gl_LocalInvocationIndex;
    fetched_weights[i] =
        fetch_weights(weight_place(block, item / kLanesOfUnit, load), item % kLanesOfUnit);
  }
  [[unroll]] for (uint i = 0; i < kXItems; ++i) {
    const uint item = i * kThreads + gl_LocalInvocationIndex;
    fetched_x[i] = fetch_x(x_quarter(block, item / kLanesOfUnit, load), load % 2, item % kLanesOfUnit);
  }
}

void store(Block block, uint load) {
  [[unroll]] for (uint i = 0; i < kWeightItems; ++i) {
    const uint item = i * kThreads + gl_LocalInvocationIndex;
    store_weights(fetched_weights[i], item % kLanesOfUnit, item / kLanesOfUnit * kTileRows);
  }
  [[unroll]] for (uint i = 0; i < kXItems; ++i) {
    const uint item = i * kThreads + gl_LocalInvocationIndex;
    store_x(fetched_x[i], item % kLanesOfUnit, item / kLanesOfUnit * kRowUnitRows);
  }
  if (kGroupsOfLoad == 0) return;
  for (uint row = gl_LocalInvocationIndex; row < kGroupRows; row += kThreads) {
    const RowScales scales =
        fetch_scales(weight_place(block, row / kTileRows, load), row % kTileRows);
    for (uint g = 0; g < kGroupsOfLoad; ++g) tile_scales[g * kGroupRows + row] = scales.scale[g];
    if (!kHasMinima) continue;
    tile_minima[row] = scales.minimum;
    const Address sums = x_quarter(block, row / kRowUnitRows, load) + kRowFragmentBytes;
    x_sums[row] = Floats(sums).at[load % 2 * kRowUnitRows + row % kRowUnitRows];
  }
}

void main() {
  const uint rows = rows_of(Step(stage.step), stage.row_class);
  // Orders blocks so that concurrent groups have different rows of x and the same weights, which
  // then come from caches.
  const uint blocks_of_x = (rows + kGroupTokens - 1) / kGroupTokens;
  const uint number = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const Block block = Block(number / blocks_of_x * (kGroupRows / kTileRows),
                            number % blocks_of_x * (kGroupTokens / kRowUnitRows),
                            (stage.rows - 1) / kTileRows, (rows - 1) / kRowUnitRows);
  const uint first_row = gl_SubgroupID % kDownOfGroup * kDown * kSide;  // of the subgroup
  const uint first_x = gl_SubgroupID / kDownOfGroup * kAcross * kSide;
  const bool has_work = block.tile * kTileRows + first_row < stage.rows &&
                        block.row_tile * kRowUnitRows + first_x < rows;
  fill_place_table();
  Sums places;
  LOAD_PLACES(places);
  Sums part[kDown][kAcross];
  Sums sums[kDown][kAcross];
  [[unroll]] for (uint d = 0; d < kDown; ++d) {
    [[unroll]] for (uint a = 0; a < kAcross; ++a) {
      VALUES for (uint i = 0; i < places.length(); ++i) part[d][a][i] = sums[d][a][i] = 0;
    }
  }

  const uint loads = stage.units * kLoadsOfUnit;
  fetch(block, 0);
  for (uint load = 0; load < loads; ++load) {
    store(block, load);
    barrier();
    if (load + 1 < loads) fetch(block, load + 1);
    if (has_work) {
      [[unroll]] for (uint d = 0; d < kDown; ++d) {
        const uint row = first_row + d * kSide;
        Weights w[2];
        [[unroll]] for (uint product = 0; product < 2; ++product) {
          LOAD_WEIGHTS(w[product], row, product * 8);
        }
        [[unroll]] for (uint a = 0; a < kAcross; ++a) {
          const uint x_row = first_x + a * kSide;
          Sums products;
          VALUES for (uint i = 0; i < products.length(); ++i) products[i] = 0;
          [[unroll]] for (uint product = 0; product < 2; ++product) {
            Xs x;
            LOAD_X(x, x_row, product * 8);
            if (kGroupsOfLoad == 0) {
              MULTIPLY_ADD(w[product], x, part[d][a]);
              continue;
            }
            MULTIPLY_ADD(w[product], x, products);
            if (kGroupsOfLoad == 1 && product == 0) continue;
            const uint group = kGroupsOfLoad == 2 ? product * kGroupRows : 0;
            VALUES for (uint i = 0; i < products.length(); ++i) {
              const uint place = uint(places[i]);
              const uint of_row = row + place / kSide;
              float sum = fma(products[i], tile_scales[group + of_row], part[d][a][i]);
              if (kHasMinima) sum = fma(-tile_minima[of_row], x_sums[x_row + place % kSide], sum);
              part[d][a][i] = sum;
              products[i] = 0;
            }
          }
        }
      }
      if (load + 1 == loads || (load + 1) % (stage.units_of_part * kLoadsOfUnit) == 0) {
        [[unroll]] for (uint d = 0; d < kDown; ++d) {
          [[unroll]] for (uint a = 0; a < kAcross; ++a) {
            VALUES for (uint i = 0; i < places.length(); ++i) {
              sums[d][a][i] += part[d][a][i];
              part[d][a][i] = 0;
            }
          }
        }
      }
    }
    barrier();
  }
  if (!has_work) return;
  [[unroll]] for (uint d = 0; d < kDown; ++d) {
    [[unroll]] for (uint a = 0; a < kAcross; ++a) {
      VALUES for (uint i = 0; i < places.length(); ++i) {
        const uint place = uint(places[i]);
        const uint row = block.tile * kTileRows + first_row + d * kSide + place / kSide;
        const uint x_row = block.row_tile * kRowUnitRows + first_x + a * kSide + place % kSide;
        if (row < stage.rows && x_row < rows) store_product(row, x_row, sums[d][a][i]);
      }
    }
  }
}
