// Places and packs a program's weights on a device, and tracks which rows are loaded. The backend
// provides memory and transfers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "abi/program_copy.h"
#include "backends/gpu/chunk_plan.h"
#include "backends/gpu/kernel_families.h"
#include "backends/gpu/stage_builder.h"

namespace tenon::gpu {

/// True if all operations only multiply with the weight's rows, so it may be stored in units
/// (weight_units.h).
bool is_only_multiplied(const tenon_program& program, uint32_t slot);

class WeightPlaces {
 public:
  /// Writes bytes of a chunk to staging memory, for a copy to `place`.
  using Fill = std::function<void(std::byte* staging)>;
  using Send = std::function<void(ChunkPlan::Place place, uint64_t bytes, const Fill& fill)>;

  /// `program` must outlive the object. Throws UNSUPPORTED or LIMIT that names a weight without a
  /// place.
  ///   largest_chunk  most bytes per allocation
  ///   staging_bytes  most bytes sent at once
  ///   families       of kernels: weights are in units if a family multiplies them
  WeightPlaces(const backends::ProgramCopy& program, uint64_t largest_chunk, uint64_t staging_bytes,
               Families families = {});

  /// Sizes of the chunks in bytes.
  [[nodiscard]] const std::vector<uint64_t>& chunks() const { return plan_.sizes(); }
  [[nodiscard]] uint64_t memory_bytes() const;
  /// Sets the places of weights.
  ///   chunks  addresses of the chunks
  void place(std::span<const Address> chunks, SlotPlaces& places) const;
  /// Rows of a weight that must be loaded together.
  [[nodiscard]] uint64_t row_granularity(uint32_t slot) const;
  /// Packs rows and sends them in parts; disjoint rows may be loaded in parallel.
  void load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows, const void* blocks,
                 uint64_t size_bytes, const Send& send);
  /// Throws STATE that names the first weight with missing rows.
  void check_loaded() const;

 private:
  struct Weight {
    ChunkPlan::Place place{};
    uint64_t row_bytes = 0;   ///< on the device
    uint64_t file_bytes = 0;  ///< per row in the file
    bool is_small = false;
    bool in_units = false;
    uint64_t factors_offset = 0;  ///< from the weight's place, for weights in units
  };
  void load_tiles(uint32_t slot, uint64_t first_row, uint64_t num_rows, const std::byte* blocks,
                  const Send& send) const;
  void pack(const tenon_slot& slot, const Weight& weight, const std::byte* blocks,
            std::byte* row) const noexcept;

  const backends::ProgramCopy& program_;
  ChunkPlan plan_;
  uint64_t staging_bytes_;
  std::vector<Weight> weights_;  ///< by slot
  std::unique_ptr<std::atomic<uint64_t>[]> rows_loaded_;
};

}  // namespace tenon::gpu
