// Memory for results shared by several workgroups, as one area: rows of x as f16, partial sums, and
// words that count arrivals.
#pragma once

#include <cstdint>

#include "abi/program_copy.h"
#include "backends/gpu/kernel_families.h"
#include "backends/gpu/slot_places.h"
#include "tenon/backend.h"

namespace tenon::gpu {

/// Values of a cache row in shared memory, and of sums over such rows.
uint32_t shared_row(const tenon_cache_group& group) noexcept;

struct WorkMemory {
  /// Throws LIMIT if sizes overflow.
  ///   multiprocessors, families  from StageLimits
  WorkMemory(const backends::ProgramCopy& program, const SlotPlaces& places,
             uint32_t multiprocessors, Families families);

  // Offsets.
  uint64_t units = 0;         ///< rows of x (PackRowsStage)
  uint64_t factors = 0;       ///< f32, their factors
  uint64_t parts = 0;         ///< f32, of products (UnitLinearStage)
  uint64_t arrived = 0;       ///< [tiles]; zeros between launches
  uint64_t partials = 0;      ///< f32, of attention (AttentionStage)
  uint64_t rows_arrived = 0;  ///< [tokens, heads]; zeros between launches
  uint64_t bytes = 0;

 private:
  struct Sizes;
};

}  // namespace tenon::gpu
