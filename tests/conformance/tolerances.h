// How near the reference a backend must be, as relative RMSE over all logits of a case. The
// reference computes in f64; what it rounds are weights, KV cache and logits.
#pragma once

namespace tenon::conformance {

/// Operations in f32, whatever order they add in.
inline constexpr double kFloatTolerance = 1e-5;
/// A linear with quantised weights, whose activations the backend may quantise to 8 bits.
inline constexpr double kQuantisedTolerance = 1.2e-2;
/// Several layers of such linears: the errors add up.
inline constexpr double kModelTolerance = 5e-2;
/// Values computed in f32 and rounded to an f16 cache may round the other way than those of f64.
inline constexpr double kHalfCacheTolerance = 2e-3;

}  // namespace tenon::conformance
