// Command buffers of an executable: its stages, recorded once for few rows and once for any number, and lists of copies and kernels, recorded anew each
// time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/gpu/stage_builder.h"
#include "backends/vulkan/vulkan_context.h"
#include "tenon/backend.h"

namespace tenon::vulkan {

/// As gpu/device_executable.h wants them. One thread at a time.
class Commands {
 public:
  /// The pipelines of the stages have been made; both outlive this.
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
    VkCommandBuffer before = VK_NULL_HANDLE;  ///< what is recorded up to the stages
    VkCommandBuffer after = VK_NULL_HANDLE;   ///< and after them
    Memory counts;                            ///< for counts_, as the host writes it
    uint64_t submission = 0;
  };

  /// Stages in parts, between which a step is cancelled.
  using Recording = std::vector<VkCommandBuffer>;

  void record(uint32_t most_rows, Recording& segments);
  void free_all() noexcept;

  Context& context_;
  std::span<const gpu::Stage> stages_;
  Memory
      counts_;  ///< of each stage VkDispatchIndirectCommand: how many workgroups is data of the step
  Recording few_;  ///< of steps of up to gpu::kNarrowTokens rows of each class
  Recording all_;  ///< of all others
  std::vector<List> lists_;
  List* list_ = nullptr;                        ///< that is recorded
  VkCommandBuffer recording_ = VK_NULL_HANDLE;  ///< of it
  std::vector<VkCommandBuffer> ready_;          ///< of it, to be submitted at once
};

}  // namespace tenon::vulkan
