// Where the slots of a program lie on a device.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/gpu/step_layout.h"

namespace tenon::gpu {

/// By slot; 0 where a slot is of another kind.
struct SlotPlaces {
  std::vector<Address> addresses;
  std::vector<uint64_t> row_bytes;   ///< of weights
  std::vector<uint8_t> is_small;     ///< weights that are f32 (gpu/weight_rows.h)
  std::vector<uint8_t> in_units;     ///< weights that are not in rows (gpu/weight_units.h)
  std::vector<Address> row_factors;  ///< of weights in units; 0: none
};

}  // namespace tenon::gpu
