// Tolerances to the reference, as relative RMSE over all logits of a case, by the precision that
// the device reports. The reference computes in f64 and rounds weights, cache and logits. Brackets
// give the worst case of the CPU backend, over all kernels.
#pragma once

#include <algorithm>
#include <stdexcept>

#include "quant/formats.h"
#include "tests/conformance/target.h"

namespace tenon::conformance {

/// Operations in f32, with any order of addition. (2.3e-6: attention with scores in the hundreds.)
inline constexpr double kFloatTolerance = 1e-5;

/// A matrix product with activations rounded to this precision. Rounding alone gives 2.4e-4 for
/// f16, 8e-4 for bf16 and 6e-3 for int8.
inline double product_tolerance(uint32_t precision) {
  switch (precision) {
    case TENON_PRECISION_F32:
      return kFloatTolerance;
    case TENON_PRECISION_FIXED14:
      return 2e-4;  // (9.6e-5)
    case TENON_PRECISION_F16:
      return 6e-4;
    case TENON_PRECISION_BF16:
      return 3e-3;
    case TENON_PRECISION_INT8:
      return 1.2e-2;  // (6.1e-3)
    default:
      throw std::invalid_argument("the device names a precision that does not exist");
  }
}

/// A linear with weights of a format.
inline double linear_tolerance(Format format) {
  const tenon_device_info& info = target_info();
  if (format == Format::BF16) return product_tolerance(info.precision_bf16);
  if (format == Format::F16 && info.precision_f16 != 0)
    return product_tolerance(info.precision_f16);
  const bool floats = find_format(format)->block_values == 1;
  return product_tolerance(floats ? info.precision_float : info.precision_blocks);
}

/// Operations without matrices, and with f32 matrices.
inline double float_tolerance() { return linear_tolerance(Format::F32); }

/// Two or three such products in sequence: their errors add up.
inline double chain_tolerance(Format format) {
  return std::max(float_tolerance(), 2 * linear_tolerance(format));
}

/// Layers of linears of any format. (1.25e-2 after two layers.)
inline double model_tolerance() {
  const double worst =
      std::max({float_tolerance(), linear_tolerance(Format::BF16), linear_tolerance(Format::Q8_0)});
  return std::max(2.1 * worst, 1e-4);
}

/// Values computed in f32 may round differently to an f16 cache than those in f64. (3.3e-5 after
/// two layers.)
inline double half_cache_tolerance() { return std::max(1e-4, 2 * float_tolerance()); }

}  // namespace tenon::conformance
