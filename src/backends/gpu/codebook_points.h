// The codebooks used by kernels, as one array; stage_parameters.h defines where each grid begins.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "backends/gpu/stage_parameters.h"
#include "quant/formats.h"

namespace tenon::gpu {

/// [kAllPoints]
inline std::vector<uint16_t> codebook_points() {
  std::vector<uint16_t> points(kAllPoints);
  const auto put = [&](uint32_t first, const auto& grid) {
    std::copy(std::begin(grid), std::end(grid), points.begin() + first);
  };
  put(kIq1Points, kIq1Grid);
  put(kIq2SPoints, kIq2SGrid);
  put(kIq2XsPoints, kIq2XsGrid);
  put(kIq2XxsPoints, kIq2XxsGrid);
  put(kIq3SPoints, kIq3SGrid);
  put(kIq3XxsPoints, kIq3XxsGrid);
  return points;
}

}  // namespace tenon::gpu
