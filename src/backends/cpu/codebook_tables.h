// The codebooks of the iq formats as kernels look them up: one 32-bit entry for each point.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/iq1_grid.h"
#include "quant/iq2_s_grid.h"
#include "quant/iq2_xs_grid.h"
#include "quant/iq2_xxs_grid.h"
#include "quant/iq3_s_grid.h"
#include "quant/iq3_xxs_grid.h"

namespace tenon::cpu {

template <size_t kPoints>
struct alignas(64) CodebookTable {
  uint32_t entry[kPoints];
};

/// Points of eight levels: byte j has level j in its low nibble and level j + 4 in its high one.
template <size_t kPoints>
constexpr CodebookTable<kPoints> eight_levels(const uint16_t (&grid)[kPoints]) {
  CodebookTable<kPoints> table{};
  for (size_t p = 0; p < kPoints; ++p) {
    for (int j = 0; j < 8; ++j) {
      const uint32_t level = grid[p] >> (2 * j) & 3u;
      table.entry[p] |= level << (j % 4 * 8 + j / 4 * 4);
    }
  }
  return table;
}
/// Points of four levels: byte j is level j.
template <size_t kPoints>
constexpr CodebookTable<kPoints> four_levels(const uint16_t (&grid)[kPoints]) {
  CodebookTable<kPoints> table{};
  for (size_t p = 0; p < kPoints; ++p) {
    for (int j = 0; j < 4; ++j) table.entry[p] |= (grid[p] >> (3 * j) & 7u) << (8 * j);
  }
  return table;
}

inline constexpr auto kIq1Points = eight_levels(kIq1Grid);
inline constexpr auto kIq2SPoints = eight_levels(kIq2SGrid);
inline constexpr auto kIq2XsPoints = eight_levels(kIq2XsGrid);
inline constexpr auto kIq2XxsPoints = eight_levels(kIq2XxsGrid);
inline constexpr auto kIq3SPoints = four_levels(kIq3SGrid);
inline constexpr auto kIq3XxsPoints = four_levels(kIq3XxsGrid);

}  // namespace tenon::cpu
