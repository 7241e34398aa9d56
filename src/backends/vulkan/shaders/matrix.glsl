// Products of 16 x 16 f16 matrices with f32 sums, in one of two layers with the same names:
// cooperative matrices or, with TENON_EMULATED, arrays, for drivers without them. Operands are in
// shared memory as words of two f16, with kPitch words between rows of the weight, or of x.
//
//   Weights, Xs    operands: 16 rows of the weight or of x, 16 columns
//   Sums           [16 weight rows, 16 rows of x], spread over the lanes of a subgroup; value i
//                  of a lane is m[i], below m.length(). Its position depends on the driver
//                  and is given by `places`
//   LOAD_WEIGHTS, LOAD_X    take the row and the word at which an operand begins
//   MULTIPLY_ADD   sums += weights x
//   LOAD_PLACES    per value, 16 times its weight row plus its row of x
//
//   VALUES         before a loop over the values of a lane
//
// Included after common.glsl, weight_tile and x_tile.

const uint kSide = 16;
shared float place_table[kSide * kSide];

// Called once by all threads, before LOAD_PLACES.
void fill_place_table() {
  for (uint i = gl_LocalInvocationIndex; i < kSide * kSide; i += kThreads) place_table[i] = float(i);
  barrier();
}

#ifndef TENON_EMULATED

// Separate constants make three distinct types; with_khr_matrices() tells them apart by these ids.
layout(constant_id = 10) const uint kRowsOfWeights = 16;
layout(constant_id = 11) const uint kRowsOfX = 16;
layout(constant_id = 12) const uint kColumns = 16;

#define VALUES [[unroll]]
#define Weights fcoopmatNV<16, gl_ScopeSubgroup, kRowsOfWeights, kColumns>
#define Xs fcoopmatNV<16, gl_ScopeSubgroup, kColumns, kRowsOfX>
#define Sums fcoopmatNV<32, gl_ScopeSubgroup, kRowsOfWeights, kRowsOfX>
#define LOAD_WEIGHTS(m, row, word) coopMatLoadNV(m, weight_tile, (row) * kPitch + (word), kPitch, false)
#define LOAD_X(m, row, word) coopMatLoadNV(m, x_tile, (row) * kPitch + (word), kPitch, true)
#define LOAD_PLACES(m) coopMatLoadNV(m, place_table, 0, kSide, false)
#define MULTIPLY_ADD(weights, x, sums) sums = coopMatMulAddNV(weights, x, sums)

#else

const uint kValuesOfLane = kSide * kSide / kLanes;

#define VALUES [[dont_unroll]]  // many values, which drivers compile slowly
#define Weights uint
#define Xs uint
#define Sums float[kValuesOfLane]
#define LOAD_WEIGHTS(m, row, word) m = (row) * kPitch + (word)
#define LOAD_X(m, row, word) m = (row) * kPitch + (word)
#define LOAD_PLACES(m) \
  VALUES for (uint i = 0; i < kValuesOfLane; ++i) m[i] = place_table[i * kLanes + gl_SubgroupInvocationID]
#define MULTIPLY_ADD(weights, x, sums)                                                 \
  VALUES for (uint i = 0; i < kValuesOfLane; ++i) {                                    \
    sums[i] = add_products(weights, x, i * kLanes + gl_SubgroupInvocationID, sums[i]); \
  }

// sum plus the products of a weight row with a row of x, given by their place in Sums.
float add_products(uint weights, uint x, uint place, float sum) {
  [[unroll]] for (uint pair = 0; pair < kSide / 2; ++pair) {
    const vec2 w = vec2(unpackFloat2x16(weight_tile[weights + place / kSide * kPitch + pair]));
    const vec2 of_x = vec2(unpackFloat2x16(x_tile[x + place % kSide * kPitch + pair]));
    sum = fma(w.y, of_x.y, fma(w.x, of_x.x, sum));
  }
  return sum;
}

#endif
