// The vector type of all CPU kernels: 16 lanes of f32 or i32, and 64 bytes. One implementation per
// instruction set, chosen by the flags of the including file; portable otherwise.
//
// All code is in a namespace named after the instruction set (TENON_CPU_ISA, defined by
// kernels_<isa>.cpp), so that functions compiled for a newer machine cannot be linked elsewhere.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "backends/cpu/kernels/kernels.h"

namespace tenon::cpu::TENON_CPU_ISA {
struct FourFloats {
  float v[4];
};
}  // namespace tenon::cpu::TENON_CPU_ISA

#if defined(__AVX512F__) && defined(__AVX512VNNI__)
#include "backends/cpu/kernels/vec_avx512.h"
#elif defined(__AVX2__)
#include "backends/cpu/kernels/dots_avx2.h"
#include "backends/cpu/kernels/sign_tables_avx2.h"
#elif defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)
#include "backends/cpu/kernels/vec_neon.h"
#else
#include "backends/cpu/kernels/vec_portable.h"
#endif

namespace tenon::cpu::TENON_CPU_ISA {

// ---- Defaults for instruction sets without a better way: templates yield to functions ----------

/// a - round_nearest(a)
template <typename F32>
inline F32 from_nearest(F32 a) {
  return sub(a, round_nearest(a));
}
/// Applies sum() to each vector.
template <typename F32>
inline FourFloats sums_of(const F32 (&x)[4]) {
  return {{sum(x[0]), sum(x[1]), sum(x[2]), sum(x[3])}};
}

// ---- Common to all -----------------------------------------------------------------------------

/// e^x on 16 lanes: 2^n e^r with |r| <= ln(2)/2 and a polynomial of degree 6 (Cephes expf
/// coefficients, |relative error| < 2e-7). Below -87.3 gives 0, above 88.3 the largest power; NaN
/// in, NaN out.
inline F32x16 exp(F32x16 x) {
  const F32x16 lowest = broadcast(-87.3f);
  const F32x16 clamped = min(max(lowest, x), broadcast(88.3f));  // max(a, NaN) is NaN: see max
  const F32x16 n = round_nearest(mul(clamped, broadcast(1.44269504088896341f)));
  F32x16 r = fma(n, broadcast(-0.693359375f), clamped);
  r = fma(n, broadcast(2.12194440e-4f), r);
  F32x16 p = broadcast(1.9875691500e-4f);
  p = fma(p, r, broadcast(1.3981999507e-3f));
  p = fma(p, r, broadcast(8.3334519073e-3f));
  p = fma(p, r, broadcast(4.1665795894e-2f));
  p = fma(p, r, broadcast(1.6666665459e-1f));
  p = fma(p, r, broadcast(5.0000001201e-1f));
  p = add(fma(mul(r, r), p, r), broadcast(1.0f));
  return zero_where_less(x, lowest, scale_by_power_of_two(p, n));
}

/// Loads the first n (0..16) lanes; the others are zero.
inline F32x16 load_part(const float* p, uint64_t n) {
  float lanes[16] = {};
  std::memcpy(lanes, p, n * sizeof(float));
  return load(lanes);
}

/// Stores the first n (0..16) lanes.
inline void store_part(float* p, F32x16 x, uint64_t n) {
  float lanes[16];
  store(lanes, x);
  std::memcpy(p, lanes, n * sizeof(float));
}

}  // namespace tenon::cpu::TENON_CPU_ISA
