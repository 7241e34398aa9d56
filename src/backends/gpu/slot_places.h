// Addresses of a program's slots on a device.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/gpu/step_layout.h"

namespace tenon::gpu {

/// Vectors by slot; 0 for slots of other kinds.
struct SlotPlaces {
  std::vector<Address> addresses;
  std::vector<uint64_t> row_bytes;   ///< of weights
  std::vector<uint8_t> is_small;     ///< weights stored as f32 (gpu/weight_rows.h)
  std::vector<uint8_t> in_units;     ///< weights stored in units (gpu/weight_units.h)
  std::vector<Address> row_factors;  ///< of weights in units; 0 means none
};

}  // namespace tenon::gpu
