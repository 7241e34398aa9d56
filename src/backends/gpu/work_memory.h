// The memory that kernels need besides slots where several workgroups share a result, as one area: rows of x as f16,
// sums of parts, and words that count who has come.
#pragma once

#include <cstdint>

#include "backends/common/program_copy.h"
#include "backends/gpu/kernel_families.h"
#include "backends/gpu/slot_places.h"
#include "tenon/backend.h"

namespace tenon::gpu {

/// Values of a row of a cache in shared memory, and of sums over such rows.
uint32_t shared_row(const tenon_cache_group& group) noexcept;

struct WorkMemory {
  /// LIMIT where sizes overflow.
  ///   multiprocessors, families  of StageLimits
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
