// linear_narrow: products of weights in units with up to 8 rows of x, bound by reading the weights.
// A group processes a tile of 16 rows; each of its subgroups has a part of the columns and its own
// shared memory. The parts are added in order.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#ifndef TENON_EMULATED
#extension GL_NV_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#endif
#include "unit_linear.glsl"

// Per subgroup: a load of a tile, and of 8 rows of x, followed by 8 rows of zeros.
shared uint weight_tile[kSubgroups * 16 * 20];
shared uint x_tile[kSubgroups * 16 * 20];
shared float tile_scales[kSubgroups * 2 * 16];  // [groups][rows]
shared float tile_minima[kSubgroups * 16];
shared float x_sums[kSubgroups * 16];
const uint kSumsOfTile = 16 * 8;
shared float part_sums[kSubgroups * kSumsOfTile];  // [8 rows of x][16 rows]
#include "units.glsl"
#include "matrix.glsl"

const uint kItems = (kLanesOfUnit + kLanes - 1) / kLanes;  // per thread: parts of a load

// The next load, in flight.
LaneWords fetched_weights[kItems];
uvec4 fetched_x[kItems];

void fetch(uint tile, uint load, uint count) {
  const LoadPlace place = load_place(stage.weight, stage.units, tile, load);
  const Address x = stage.x + Address(load / 2) * kRowQuarterBytes;
  [[unroll]] for (uint i = 0; i < kItems; ++i) {
    const uint lane = i * kLanes + gl_SubgroupInvocationID;
    if (lane >= kLanesOfUnit) continue;
    fetched_weights[i] = fetch_weights(place, lane);
    fetched_x[i] = lane / 4 < count ? fetch_x(x, load % 2, lane) : uvec4(0);
  }
}

void store(uint tile, uint load, uint count) {
  [[unroll]] for (uint i = 0; i < kItems; ++i) {
    const uint lane = i * kLanes + gl_SubgroupInvocationID;
    if (lane >= kLanesOfUnit) continue;
    store_weights(fetched_weights[i], lane, gl_SubgroupID * kTileRows);
    store_x(fetched_x[i], lane, gl_SubgroupID * kTileRows);
  }
  if (kGroupsOfLoad == 0) return;
  const LoadPlace place = load_place(stage.weight, stage.units, tile, load);
  const Address sums = stage.x + Address(load / 2) * kRowQuarterBytes + kRowFragmentBytes;
  for (uint row = gl_SubgroupInvocationID; row < kTileRows; row += kLanes) {
    const RowScales scales = fetch_scales(place, row);
    for (uint g = 0; g < kGroupsOfLoad; ++g) {
      tile_scales[(gl_SubgroupID * 2 + g) * kTileRows + row] = scales.scale[g];
    }
    if (!kHasMinima) continue;
    tile_minima[gl_SubgroupID * kTileRows + row] = scales.minimum;
    x_sums[gl_SubgroupID * kTileRows + row] =
        row < count ? Floats(sums).at[load % 2 * kRowUnitRows + row] : 0;
  }
}

void main() {
  const uint tile = gl_WorkGroupID.x;
  const uint count = rows_of(Step(stage.step), stage.row_class);
  const uint part = gl_SubgroupID;
  const uint own = gl_SubgroupID * kTileRows;
  fill_place_table();
  Sums places;
  LOAD_PLACES(places);
  Sums sums;
  VALUES for (uint i = 0; i < sums.length(); ++i) sums[i] = 0;
  for (uint i = gl_SubgroupInvocationID; i < 8 * kPitch; i += kLanes) {
    x_tile[(own + 8) * kPitch + i] = 0;
  }

  const uint begin = part * stage.units_of_part * kLoadsOfUnit;
  const uint end = min(begin + stage.units_of_part * kLoadsOfUnit, stage.units * kLoadsOfUnit);
  if (begin < end) fetch(tile, begin, count);
  for (uint load = begin; load < end; ++load) {
    store(tile, load, count);
    subgroupBarrier();
    if (load + 1 < end) fetch(tile, load + 1, count);
    Sums products;
    if (kGroupsOfLoad > 0) {
      VALUES for (uint i = 0; i < products.length(); ++i) products[i] = 0;
    }
    [[unroll]] for (uint product = 0; product < 2; ++product) {
      Weights w;
      Xs x;
      LOAD_WEIGHTS(w, own, product * 8);
      LOAD_X(x, own, product * 8);
      if (kGroupsOfLoad == 0) {
        MULTIPLY_ADD(w, x, sums);
        continue;
      }
      MULTIPLY_ADD(w, x, products);
      if (kGroupsOfLoad == 1 && product == 0) continue;
      const uint group = (gl_SubgroupID * 2 + (kGroupsOfLoad == 2 ? product : 0)) * kTileRows;
      VALUES for (uint i = 0; i < sums.length(); ++i) {
        const uint place = uint(places[i]);
        sums[i] = fma(products[i], tile_scales[group + place / kSide], sums[i]);
        if (kHasMinima) {
          sums[i] = fma(-tile_minima[own + place / kSide], x_sums[own + place % kSide], sums[i]);
        }
        products[i] = 0;
      }
    }
    subgroupBarrier();
  }

  VALUES for (uint i = 0; i < sums.length(); ++i) {
    const uint place = uint(places[i]);
    if (place % kSide >= 8) continue;
    part_sums[part * kSumsOfTile + place % kSide * kTileRows + place / kSide] = sums[i];
  }
  barrier();
  for (uint i = gl_LocalInvocationIndex; i < kSumsOfTile; i += kThreads) {
    const uint row = tile * kTileRows + i % kTileRows;
    const uint x_row = i / kTileRows;
    if (row >= stage.rows || x_row >= count) continue;
    float sum = 0;
    for (uint p = 0; p < stage.num_parts; ++p) sum += part_sums[p * kSumsOfTile + i];
    store_product(row, x_row, sum);
  }
}
