// What all backends make of a moe_route whose experts a table tells, and of its scores
// (tenon/backend.h, tenon_moe_route_params). No choosing.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tenon::backends {

/// The expert that `number` of a table stands for: the nearest of 0 .. experts - 1; NaN: 0.
inline uint32_t told_expert(double number, uint32_t experts) noexcept {
  if (!(number > 0)) return 0;
  return static_cast<uint32_t>(std::min(std::round(number), static_cast<double>(experts - 1)));
}

/// ln(1 + exp(x)), which for large x is x.
inline double softplus(double x) noexcept {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

}  // namespace tenon::backends
