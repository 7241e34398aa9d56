// Weights in units (gpu/weight_units.h) of the format selected by TENON_UNITS: 0 f16 and bf16, 1
// q8_0, 2 q4_K, 3 q6_K. A load is 32 columns of a tile of 16 rows: codes become f16 operands
// (matrix.glsl) in shared memory, exactly, and the scales multiply the sums over the columns of a
// group.
#if TENON_UNITS == 0
const uint kHeadBytes = 0, kLowBytes = 2048, kHighBytes = 0, kScaleBytes = 0;
const uint kGroupsOfLoad = 0;  // groups of columns with a scale; 0: no scales
#elif TENON_UNITS == 1
const uint kHeadBytes = 0, kLowBytes = 1024, kHighBytes = 0, kScaleBytes = 64;
const uint kGroupsOfLoad = 1;
#elif TENON_UNITS == 2
const uint kHeadBytes = 64, kLowBytes = 512, kHighBytes = 0, kScaleBytes = 64;
const uint kGroupsOfLoad = 1;
#else
const uint kHeadBytes = 32, kLowBytes = 512, kHighBytes = 256, kScaleBytes = 64;
const uint kGroupsOfLoad = 2;
#endif
const bool kHasMinima = TENON_UNITS == 2;
const uint kQuarterBytes = kLowBytes + kHighBytes + kScaleBytes;
const uint kUnitBytes = kHeadBytes + 4 * kQuarterBytes;

const uint kTileRows = 16;
const uint kLoadColumns = 32;
const uint kLoadsOfUnit = 8;
const uint kLanesOfUnit = 32;  // lanes that a unit is packed for; a thread takes one lane's part
// Words per row of a load, plus four that spread rows over banks and keep 16-byte alignment.
const uint kPitch = 20;

layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer Quads { uvec4 at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Pairs { uvec2 at[]; };

// Location of a load.
struct LoadPlace {
  Address unit;
  uint quarter;  // offset in bytes
  uint number;  // 0 or 1 within the quarter
};
LoadPlace load_place(Address weight, uint units, uint tile, uint load) {
  const Address unit = weight + (Address(tile) * units + load / kLoadsOfUnit) * kUnitBytes;
  return LoadPlace(unit, kHeadBytes + load % kLoadsOfUnit / 2 * kQuarterBytes, load % 2);
}

// A lane's part of a load in its memory layout.
struct LaneWords {
  uvec4 first;
  uvec4 second;
};
LaneWords fetch_weights(LoadPlace place, uint lane) {
  const Address quarter = place.unit + place.quarter;
  LaneWords words = LaneWords(uvec4(0), uvec4(0));
#if TENON_UNITS == 0
  Quads quads = Quads(quarter);
  words.first = quads.at[place.number * 2 * kLanesOfUnit + lane];
  words.second = quads.at[(place.number * 2 + 1) * kLanesOfUnit + lane];
#elif TENON_UNITS == 1
  words.first = Quads(quarter).at[place.number * kLanesOfUnit + lane];
#else
  words.first.xy = Pairs(quarter).at[lane * 2 + place.number];
#if TENON_UNITS == 3
  words.first.z = Words(quarter + kLowBytes).at[lane * 2 + place.number];
#endif
#endif
  return words;
}

// Turns two codes below 1024, the halves of a word, into f16: 0x6400 | code is 1024 + code.
uint codes_to_halves(uint codes, uint zero_code) {
  const f16vec2 shifted = unpackFloat2x16(codes | 0x64006400u);
  return packFloat2x16(shifted - f16vec2(float16_t(1024 + zero_code)));
}

// Values 2 i and 2 i + 1 of a lane in matrix product `product` of two.
uint weight_pair(LaneWords words, uint product, uint i) {
#if TENON_UNITS == 0
  return product == 0 ? words.first[i] : words.second[i];
#elif TENON_UNITS == 1
  return codes_to_halves(words.first[product * 2 + i / 2] >> i % 2 * 8 & 0x00FF00FFu, 128);
#elif TENON_UNITS == 2
  return codes_to_halves(words.first[product] >> i * 4 & 0x000F000Fu, 0);
#else
  const uint fours = words.first[product] >> i * 4 & 0x000F000Fu;
  const uint twos = words.first.z >> (product * 4 + i) * 2 & 0x00030003u;
  return codes_to_halves(fours | twos << 4, 32);
#endif
}

// Stores a lane's part of a load in shared memory (packed_unit.h, fragment_place).
//   first_row  of the tile in weight_tile
void store_weights(LaneWords words, uint lane, uint first_row) {
  [[unroll]] for (uint product = 0; product < 2; ++product) {
    [[unroll]] for (uint i = 0; i < 4; ++i) {
      const uint row = first_row + lane / 4 + i % 2 * 8;
      weight_tile[row * kPitch + product * 8 + i / 2 * 4 + lane % 4] =
          weight_pair(words, product, i);
    }
  }
}

// Fetches a lane's part of x (PackRowsStage): 32 columns of 8 rows.
uvec4 fetch_x(Address quarter, uint number, uint lane) {
  return Quads(quarter).at[number * kLanesOfUnit + lane];
}
void store_x(uvec4 words, uint lane, uint first_row) {
  [[unroll]] for (uint i = 0; i < 4; ++i) {
    x_tile[(first_row + lane / 4) * kPitch + i * 4 + lane % 4] = words[i];
  }
}

uint short_in(Address base, uint offset) {
  return Words(base).at[offset / 4] >> offset % 4 * 8 & 0xFFFFu;
}

// Factors of sums over the columns of a load's groups, and the minima, which multiply the sum of x.
struct RowScales {
  float scale[2];
  float minimum;
};
RowScales fetch_scales(LoadPlace place, uint row) {
  RowScales scales;
  scales.scale[0] = scales.scale[1] = scales.minimum = 0;
  const uint at = place.quarter + kLowBytes + kHighBytes;
#if TENON_UNITS == 1
  scales.scale[0] = half_to_float(short_in(place.unit, at + (row * 2 + place.number) * 2));
#elif TENON_UNITS == 2
  const uint factors = Words(place.unit).at[row];
  const uint bytes = short_in(place.unit, at + (row * 2 + place.number) * 2);
  scales.scale[0] = half_to_float(factors & 0xFFFFu) * float(bytes & 255u);
  scales.minimum = half_to_float(factors >> 16) * float(bytes >> 8);
#elif TENON_UNITS == 3
  const float d = half_to_float(short_in(place.unit, row * 2));
  const uint bytes = short_in(place.unit, at + row * 4 + place.number * 2);
  for (uint i = 0; i < 2; ++i) scales.scale[i] = d * float(bitfieldExtract(int(bytes), int(i * 8), 8));
#endif
  return scales;
}

// Stores the result of a complete sum.
void store_product(uint row, uint x_row, float sum) {
  const float row_factor = stage.row_factors == 0 ? 1 : Floats(stage.row_factors).at[row];
  const float bias = stage.bias == 0 ? 0 : Floats(stage.bias).at[row];
  precise const float y = sum * Floats(stage.x_factors).at[x_row] * row_factor;
  precise const float result = y + bias;
  Floats(stage.y + (Address(x_row) * stage.rows + row) * 4).at[0] = result;
}
