// How near the reference a backend must be, as relative RMSE over all logits of a case. The
// reference computes in f64; what it rounds are weights, KV cache and logits. In brackets: the
// worst case of the CPU backend, any kernels.
#pragma once

#include "quant/formats.h"

namespace tenon::conformance {

/// Operations in f32, whatever order they add in. (2.3e-6: attention with scores in the hundreds.)
inline constexpr double kFloatTolerance = 1e-5;
/// A linear with bf16 weights, whose activations the backend may take in 14 bits. (9.6e-5)
inline constexpr double kFixedPointTolerance = 2e-4;
/// A linear with quantised weights, whose activations the backend may quantise to 8 bits. (6.1e-3)
inline constexpr double kQuantisedTolerance = 1.2e-2;
/// Layers of such linears: the errors add up. (1.25e-2 after two layers)
inline constexpr double kModelTolerance = 2.5e-2;
/// Values computed in f32 and rounded to an f16 cache may round the other way than those of f64.
/// (3.3e-5 after two layers)
inline constexpr double kHalfCacheTolerance = 1e-4;

/// A linear with weights of a format.
inline double linear_tolerance(Format format) {
  if (format == Format::BF16) return kFixedPointTolerance;
  return find_format(format)->block_values == 1 ? kFloatTolerance : kQuantisedTolerance;
}

}  // namespace tenon::conformance
