// Where the weights of a program lie on a device, how their rows are packed, and which have come. The memory and
// the way to it are the backend's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backends/common/program_copy.h"
#include "backends/gpu/chunk_plan.h"
#include "backends/gpu/kernel_families.h"
#include "backends/gpu/stage_builder.h"

namespace tenon::gpu {

/// Whether rows of a weight are multiplied with and no more: then it may lie in units (weight_units.h).
bool is_only_multiplied(const tenon_program& program, uint32_t slot);

class WeightPlaces {
 public:
  /// Bytes of a chunk that `fill` writes, to be copied to `place`.
  using Fill = std::function<void(std::byte* staging)>;
  using Send = std::function<void(ChunkPlan::Place place, uint64_t bytes, const Fill& fill)>;

  /// `program` outlives this. UNSUPPORTED or LIMIT naming a weight that has no place.
  ///   largest_chunk  bytes of an allocation at most
  ///   staging_bytes  that are sent at once, at most
  ///   families       of kernels: weights lie in units where there is one that multiplies them
  WeightPlaces(const backends::ProgramCopy& program, uint64_t largest_chunk, uint64_t staging_bytes,
               Families families = {});

  /// Bytes of the chunks.
  [[nodiscard]] const std::vector<uint64_t>& chunks() const { return plan_.sizes(); }
  [[nodiscard]] uint64_t memory_bytes() const;
  /// Notes where weights lie.
  ///   chunks  addresses of the chunks
  void place(std::span<const Address> chunks, SlotPlaces& places) const;
  /// Rows of a weight that come together.
  [[nodiscard]] uint64_t row_granularity(uint32_t slot) const;
  /// Packs rows and sends them in parts; may run in parallel for disjoint rows.
  void load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows, const void* blocks,
                 uint64_t size_bytes, const Send& send);
  /// STATE naming the first weight with missing rows.
  void check_loaded() const;

 private:
  struct Weight {
    ChunkPlan::Place place{};
    uint64_t row_bytes = 0;   ///< on the device
    uint64_t file_bytes = 0;  ///< of a row of a file
    bool is_small = false;
    bool in_units = false;
    uint64_t factors_offset = 0;  ///< from its place, of weights in units
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
