// The rings in shared memory through which products with weights in units read: what a stage holds, and how many there
// are. A launch says so many bytes; a kernel counts on them.
#pragma once

#include "backends/cuda/kernels/constants.h"
#include "backends/gpu/stage_parameters.h"
#include "backends/gpu/unit_products.h"
#include "backends/gpu/weight_units.h"

namespace tenon::cuda {

/// Shared memory of a group that every device of compute capability 8.0 or more has on request: 99 KiB (CUDA C++
/// Programming Guide, "Technical Specifications per Compute Capability"; 8.0 and 9.0 have more).
inline constexpr uint32_t kSharedOnRequest = 99 << 10;

/// Threads of a group of linear_narrow at most.
inline constexpr uint32_t kNarrowThreads = gpu::kMostPartsOfGroup * kWarp;

/// Stages of 64 columns.
struct Ring {
  uint32_t weight_bytes;  ///< of a tile: the head of the unit, and a quarter
  uint32_t stage_bytes;
  uint32_t stages;
};

/// Of a warp of linear_narrow: a tile, and 8 rows of x. Two groups of eight warps fit a multiprocessor of 164 KB or
/// more, and have some 40 KB of weights in flight.
constexpr Ring narrow_ring(Format format) noexcept {
  constexpr uint32_t kGroupBytes = 80 << 10;
  const gpu::UnitLayout layout = gpu::unit_layout(format);
  const uint32_t weights = layout.head_bytes + layout.quarter_bytes();
  const uint32_t stage = weights + gpu::kRowQuarterBytes;
  return {weights, stage, kGroupBytes / gpu::kMostPartsOfGroup / stage};
}

/// Of a group of linear_wide: 8 tiles, and 128 rows of x.
constexpr Ring wide_ring(Format format) noexcept {
  const gpu::UnitLayout layout = gpu::unit_layout(format);
  const uint32_t weights = layout.head_bytes + layout.quarter_bytes();
  const uint32_t stage = gpu::kWideRows / gpu::kUnitRows * weights +
                         gpu::kWideTokens / gpu::kRowUnitRows * gpu::kRowQuarterBytes;
  return {weights, stage, kSharedOnRequest / stage};
}

}  // namespace tenon::cuda
