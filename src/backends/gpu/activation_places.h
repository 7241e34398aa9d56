// Where activations, inputs and results of a program lie in one area of a device's memory, and inputs and
// results in the memory through which the host sends and takes them.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/common/program_copy.h"
#include "backends/gpu/stage_builder.h"

namespace tenon::gpu {

struct ActivationPlaces {
  /// Of an input or a result.
  struct Staged {
    uint32_t slot;
    uint64_t offset;  ///< of it in the memory that the host sees
  };
  /// As the host plans it; results, inputs and what has no plan follow one after another. ARGUMENT naming a
  /// slot that leaves the planned area.
  explicit ActivationPlaces(const backends::ProgramCopy& program);

  /// Addresses of slots in an area that begins at `area`; makes `places` ready for weights, too.
  void place(Address area, SlotPlaces& places) const;

  std::vector<uint64_t> offsets;  ///< by slot, in the area
  std::vector<Staged> inputs;
  std::vector<Staged> results;
  uint64_t area_bytes = 0;
  uint64_t input_bytes = 0;   ///< that the host sends
  uint64_t result_bytes = 0;  ///< that the host takes

 private:
  const backends::ProgramCopy& program_;
};

}  // namespace tenon::gpu
