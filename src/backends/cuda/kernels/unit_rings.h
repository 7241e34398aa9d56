// Rings in shared memory for products with weights in units: size of a stage and number of stages.
// Launches request, and kernels rely on, these sizes.
#pragma once

#include "backends/cuda/kernels/constants.h"
#include "backends/gpu/stage_parameters.h"
#include "backends/gpu/unit_products.h"
#include "backends/gpu/weight_units.h"

namespace tenon::cuda {

/// Shared memory per group that every device of compute capability 8.0 or higher grants on request:
/// 99 KiB (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; 8.0 and
/// 9.0 grant more).
inline constexpr uint32_t kSharedOnRequest = 99 << 10;

/// Most threads per group of linear_narrow.
inline constexpr uint32_t kNarrowThreads = gpu::kMostPartsOfGroup * kWarp;

/// A ring of stages of 64 columns.
struct Ring {
  uint32_t weight_bytes;  ///< per tile: head of the unit, and a quarter
  uint32_t stage_bytes;
  uint32_t stages;
};

/// Ring of a warp of linear_narrow: a tile and 8 rows of x. Two groups of eight warps fit a
/// multiprocessor of 164 KB or more, with about 40 KB of weights in flight.
constexpr Ring narrow_ring(Format format) noexcept {
  constexpr uint32_t kGroupBytes = 80 << 10;
  const gpu::UnitLayout layout = gpu::unit_layout(format);
  const uint32_t weights = layout.head_bytes + layout.quarter_bytes();
  const uint32_t stage = weights + gpu::kRowQuarterBytes;
  return {weights, stage, kGroupBytes / gpu::kMostPartsOfGroup / stage};
}

/// Ring of a group of linear_wide: 8 tiles and 128 rows of x.
constexpr Ring wide_ring(Format format) noexcept {
  const gpu::UnitLayout layout = gpu::unit_layout(format);
  const uint32_t weights = layout.head_bytes + layout.quarter_bytes();
  const uint32_t stage = gpu::kWideRows / gpu::kUnitRows * weights +
                         gpu::kWideTokens / gpu::kRowUnitRows * gpu::kRowQuarterBytes;
  return {weights, stage, kSharedOnRequest / stage};
}

}  // namespace tenon::cuda
