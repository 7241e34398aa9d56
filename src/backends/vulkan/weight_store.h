// The weights of a program in the device's memory, and their way there.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/common/program_copy.h"
#include "backends/gpu/weight_places.h"
#include "backends/vulkan/vulkan_context.h"

namespace tenon::vulkan {

class WeightStore {
 public:
  /// Memory for all weights. `program` and the context outlive this.
  WeightStore(Context& context, const backends::ProgramCopy& program)
      : context_(context),
        weights_(program, context.physical().largest_allocation, Context::kStagingBytes) {
    for (const uint64_t size : weights_.chunks()) {
      chunks_.emplace_back(context, size, Access::Device, "weights");
    }
  }

  /// Where they lie.
  void place(gpu::SlotPlaces& places) const {
    std::vector<gpu::Address> addresses;
    for (const Memory& chunk : chunks_) addresses.push_back(chunk.address());
    weights_.place(addresses, places);
  }
  /// Packs and copies rows; may run in parallel for disjoint rows.
  void load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows, const void* blocks,
                 uint64_t size_bytes) {
    const auto send = [this](gpu::ChunkPlan::Place place, uint64_t bytes,
                             const gpu::WeightPlaces::Fill& fill) {
      Context::Upload upload(context_);
      fill(upload.bytes());
      upload.send(chunks_[place.chunk], place.offset, bytes);
    };
    weights_.load_rows(slot, first_row, num_rows, blocks, size_bytes, send);
  }
  /// STATE naming the first weight with missing rows.
  void check_loaded() const { weights_.check_loaded(); }
  [[nodiscard]] uint64_t memory_bytes() const { return weights_.memory_bytes(); }

 private:
  Context& context_;
  gpu::WeightPlaces weights_;
  std::vector<Memory> chunks_;
};

}  // namespace tenon::vulkan
