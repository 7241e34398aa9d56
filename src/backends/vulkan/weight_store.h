// The weights of a program in the device's memory, and their way there.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "backends/common/program_copy.h"
#include "backends/gpu/chunk_plan.h"
#include "backends/vulkan/stage_builder.h"
#include "backends/vulkan/vulkan_context.h"

namespace tenon::vulkan {

class WeightStore {
 public:
  /// Memory for all weights. `program` and the context outlive this.
  WeightStore(Context& context, const backends::ProgramCopy& program);

  /// Where they lie.
  void place(SlotPlaces& places) const;
  /// Packs and copies rows; may run in parallel for disjoint rows.
  void load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows, const void* blocks,
                 uint64_t size_bytes);
  /// STATE naming the first weight with missing rows.
  void check_loaded() const;
  [[nodiscard]] uint64_t memory_bytes() const;

 private:
  struct Weight {
    gpu::ChunkPlan::Place place{};
    uint64_t row_bytes = 0;   ///< on the device
    uint64_t file_bytes = 0;  ///< of a row of a file
    bool is_small = false;
  };
  void pack(const tenon_slot& slot, const Weight& weight, const std::byte* blocks,
            std::byte* row) const noexcept;

  Context& context_;
  const backends::ProgramCopy& program_;
  std::vector<Weight> weights_;  ///< by slot
  std::vector<Memory> chunks_;
  std::unique_ptr<std::atomic<uint64_t>[]> rows_loaded_;
};

}  // namespace tenon::vulkan
