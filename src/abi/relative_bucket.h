// T5's distance buckets (arXiv:1910.10683, section 2.1), which select the table row of a relative
// bias. The formula is defined in tenon/backend.h (TENON_BIAS_RELATIVE).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tenon/backend.h"

namespace tenon::backends {

/// Bucket of a position `distance` after the token's own (negative: before), in a table of
/// `buckets`. Example: with 32 buckets, two sides and max_distance 128, 3 positions before are
/// bucket 3, 3 after 19, 16 before 10, and 91 or more before 15.
///   params  two_sided and max_distance; max_distance is above half of a side's buckets
inline uint32_t relative_bucket(int64_t distance, uint32_t buckets,
                                const tenon_attention_params& params) noexcept {
  const uint32_t side = params.two_sided != 0 ? buckets / 2 : buckets;
  const bool after = distance > 0;
  const uint32_t first = after && params.two_sided != 0 ? side : 0;
  if (after && params.two_sided == 0) return 0;
  const auto size = static_cast<uint64_t>(after ? distance : -distance);
  const uint32_t exact = side / 2;
  if (size < exact) return first + static_cast<uint32_t>(size);
  if (size >= params.max_distance) return first + side - 1;
  // Whole real values (16 of 8..128) must not round down.
  constexpr double kSlack = 1e-9;
  const double share = std::log(static_cast<double>(size) / exact) /
                       std::log(static_cast<double>(params.max_distance) / exact);
  const auto more = static_cast<uint32_t>(share * (side - exact) + kSlack);
  return first + std::min(side - 1, exact + more);
}

}  // namespace tenon::backends
