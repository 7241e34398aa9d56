// The memory that products with weights in units need besides slots, as one area: rows of x as f16, and sums of parts.
#pragma once

#include <cstdint>

#include "backends/common/program_copy.h"
#include "backends/gpu/slot_places.h"

namespace tenon::gpu {

struct ProductMemory {
  /// LIMIT where sizes overflow.
  ///   multiprocessors  0: no weight lies in units
  ProductMemory(const backends::ProgramCopy& program, const SlotPlaces& places,
                uint32_t multiprocessors);

  // Offsets.
  uint64_t units = 0;    ///< rows of x (PackRowsStage)
  uint64_t factors = 0;  ///< f32, their factors
  uint64_t parts = 0;    ///< f32, where groups share a tile
  uint64_t arrived = 0;  ///< groups that have come, by tile; zeros between launches
  uint64_t bytes = 0;
};

}  // namespace tenon::gpu
