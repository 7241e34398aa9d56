// Parts of moe_route shared by all backends: experts given by a table, and scores (tenon/backend.h,
// tenon_moe_route_params).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tenon::backends {

/// Expert of a table's number: rounded and clamped to 0 .. experts - 1; NaN gives 0.
inline uint32_t told_expert(double number, uint32_t experts) noexcept {
  if (!(number > 0)) return 0;
  return static_cast<uint32_t>(std::min(std::round(number), static_cast<double>(experts - 1)));
}

/// ln(1 + exp(x)), without overflow.
inline double softplus(double x) noexcept {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

}  // namespace tenon::backends
