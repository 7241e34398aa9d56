// Places activations, inputs and results of a program in one area of device memory, and inputs and
// results in staging memory.
#pragma once

#include <cstdint>
#include <vector>

#include "abi/program_copy.h"
#include "backends/gpu/stage_builder.h"

namespace tenon::gpu {

struct ActivationPlaces {
  /// An input or a result.
  struct Staged {
    uint32_t slot;
    uint64_t offset;  ///< offset in staging memory
  };
  /// Follows the host's plan; results, inputs and unplanned slots come after it. Throws ARGUMENT
  /// that names a slot outside the planned area.
  explicit ActivationPlaces(const backends::ProgramCopy& program);

  /// Sets the addresses of slots in an area at `area`; prepares `places` for weights, too.
  void place(Address area, SlotPlaces& places) const;

  std::vector<uint64_t> offsets;  ///< [slots] offsets in the area
  std::vector<Staged> inputs;
  std::vector<Staged> results;
  uint64_t area_bytes = 0;
  uint64_t input_bytes = 0;   ///< sent by the host
  uint64_t result_bytes = 0;  ///< fetched by the host

 private:
  const backends::ProgramCopy& program_;
};

}  // namespace tenon::gpu
