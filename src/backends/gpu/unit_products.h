// Divides a product with a weight in units (weight_units.h) by the weight's shape and the device
// only, never by the step, so a result row has the same bits whatever its neighbours.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/gpu/weight_units.h"

namespace tenon::gpu {

/// Rows of x in a product of few tokens: the columns of a matrix instruction.
inline constexpr uint32_t kNarrowTokens = 8;
/// Block of the result per workgroup in steps of more tokens.
inline constexpr uint32_t kWideRows = 128;
inline constexpr uint32_t kWideTokens = 128;
inline constexpr uint32_t kWideThreads = 256;
/// Rows of x per warpgroup product; in steps with no more rows, half of such a product would be
/// wasted.
inline constexpr uint32_t kWarpgroupTokens = 64;
/// Most warps of a workgroup that share a tile in steps of few tokens, each with a part of the
/// columns.
inline constexpr uint32_t kMostPartsOfGroup = 8;

/// A tile's columns in parts of equal length, the last one shorter. Each part is one chain of sums;
/// the sums of parts are added in order.
struct ColumnParts {
  uint32_t units;           ///< per part
  uint32_t parts;           ///< per tile
  uint32_t parts_of_group;  ///< a warp per part
  uint32_t groups;          ///< per tile
};

/// Parts for a weight with this many tiles and units per row. A workgroup takes a tile; two, four
/// or eight share a tile if multiprocessors would be idle in the last wave.
constexpr ColumnParts column_parts(uint64_t tiles, uint64_t units,
                                   uint32_t multiprocessors) noexcept {
  constexpr uint64_t kGoodShare = 90;  // percent of multiprocessors busy on average
  uint64_t groups = 1;
  uint64_t best_share = 0;
  for (uint64_t tried = 1; tried <= 8 && tried * kMostPartsOfGroup <= std::max<uint64_t>(units, 8);
       tried *= 2) {
    const uint64_t waves = (tiles * tried + multiprocessors - 1) / multiprocessors;
    const uint64_t share = tiles * tried * 100 / (waves * multiprocessors);
    if (share <= best_share) continue;
    best_share = share;
    groups = tried;
    if (share >= kGoodShare) break;
  }
  const uint64_t most_parts = groups * kMostPartsOfGroup;
  const uint64_t length = (units + most_parts - 1) / most_parts;
  const uint64_t parts = (units + length - 1) / length;
  const uint64_t of_group = std::min<uint64_t>(parts, kMostPartsOfGroup);
  return {static_cast<uint32_t>(length), static_cast<uint32_t>(parts),
          static_cast<uint32_t>(of_group),
          static_cast<uint32_t>((parts + of_group - 1) / of_group)};
}

}  // namespace tenon::gpu
