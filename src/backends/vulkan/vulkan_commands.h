// Command buffers of an executable: its stages, recorded once for few rows and once for any number
// of rows, and lists of copies and kernels, recorded each time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/gpu/stage_builder.h"
#include "backends/vulkan/vulkan_context.h"
#include "tenon/backend.h"

namespace tenon::vulkan {

/// Implements Commands of gpu/device_executable.h. Use from one thread at a time.
class Commands {
 public:
  /// Requires the pipelines of the stages; both must outlive the object.
  Commands(Context& context, std::span<const gpu::Stage> stages, uint32_t num_lists);
  ~Commands() { free_all(); }
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  void begin(uint32_t list);
  void send(const Memory& to, uint64_t to_offset, const Memory& from, uint64_t from_offset,
            uint64_t size);
  void take(const Memory& to, uint64_t to_offset, const Memory& from, uint64_t from_offset,
            uint64_t size) {
    send(to, to_offset, from, from_offset, size);
  }
  void barrier() { context_.barrier(recording_); }
  void launch(const gpu::KernelKey& key, gpu::Address parameters, uint32_t groups, uint32_t rows);
  void run_stages(const tenon_step& step);
  void submit();
  void wait(uint32_t list) { context_.wait(lists_[list].submission); }
  [[nodiscard]] bool has_ended(uint32_t list) {
    return context_.has_ended(lists_[list].submission);
  }
  void finish() {
    context_.finish([] {});
  }
  [[nodiscard]] uint64_t memory_bytes() const { return counts_.size(); }

 private:
  struct List {
    VkCommandBuffer before = VK_NULL_HANDLE;  ///< commands before the stages
    VkCommandBuffer after = VK_NULL_HANDLE;   ///< commands after the stages
    Memory counts;                            ///< host copy of counts_
    uint64_t submission = 0;
  };

  /// Stages in segments, between which a step may be cancelled.
  using Recording = std::vector<VkCommandBuffer>;

  void record(uint32_t most_rows, Recording& segments);
  void free_all() noexcept;

  Context& context_;
  std::span<const gpu::Stage> stages_;
  Memory counts_;  ///< VkDispatchIndirectCommand per stage: workgroup counts depend on the step
  Recording few_;  ///< for steps of up to gpu::kNarrowTokens rows per class
  Recording all_;  ///< for all other steps
  std::vector<List> lists_;
  List* list_ = nullptr;                        ///< being recorded
  VkCommandBuffer recording_ = VK_NULL_HANDLE;  ///< command buffer of list_
  std::vector<VkCommandBuffer> ready_;          ///< buffers of list_ to submit together
};

}  // namespace tenon::vulkan
