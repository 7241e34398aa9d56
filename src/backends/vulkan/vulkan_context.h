// A logical device with its queue, memory and pipelines, shared by executables and buffers.
// Everything but begin_upload may be called by one thread at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/gpu/device_memory.h"
#include "backends/gpu/kernel_key.h"
#include "backends/gpu/staging.h"
#include "backends/vulkan/pipeline_cache.h"
#include "backends/vulkan/vulkan_instance.h"
#include "backends/vulkan/vulkan_shaders.h"
#include "tenon/backend.h"

namespace tenon::vulkan {

class Context;

/// Location of memory and its users.
enum class Access {
  Device,    ///< device memory
  Upload,    ///< the host writes, the device copies from it
  Download,  ///< the device copies to it, the host reads
};

/// Implementation of products with weights in units.
enum class UnitProducts {
  None,      ///< weights in rows, products in f32
  Matrices,  ///< by cooperative matrices
  Emulated,  ///< by the same shaders over arrays, for tests
};

/// One allocation with one buffer. Move-only.
class Memory {
 public:
  Memory() = default;
  /// Throws NO_MEMORY that names `what` if memory or the budget is exhausted.
  Memory(Context& context, uint64_t size_bytes, Access access, const char* what);
  ~Memory();
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    Memory(std::move(other)).swap(*this);
    return *this;
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] uint64_t size() const { return size_bytes_; }
  [[nodiscard]] VkBuffer buffer() const { return buffer_; }
  [[nodiscard]] uint64_t address() const { return address_; }
  /// Host address of host-visible memory.
  [[nodiscard]] std::byte* bytes() const { return bytes_; }

 private:
  void swap(Memory& other) noexcept;

  Context* context_ = nullptr;
  uint64_t size_bytes_ = 0;
  Access access_ = Access::Device;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  uint64_t address_ = 0;
  std::byte* bytes_ = nullptr;
};

class Context {
 public:
  /// Throws UNSUPPORTED if the device is unusable.
  ///   memory_limit  bytes of device memory to use; 0: all but the larger of 1 GiB and 5 %
  Context(const tenon_host* host, uint32_t index, uint64_t memory_limit);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] const tenon_host* host() const { return host_; }
  [[nodiscard]] const PhysicalDevice& physical() const { return physical_; }
  [[nodiscard]] const DeviceFunctions& functions() const { return functions_; }
  [[nodiscard]] VkDevice handle() const { return handle_; }
  [[nodiscard]] uint64_t memory_available() const;
  [[nodiscard]] bool is_lost() const noexcept { return lost_; }
  /// Threads per workgroup that shares a row.
  [[nodiscard]] uint32_t group_threads() const { return group_threads_; }
  /// Uses cooperative matrices if the device has them, unless chosen otherwise.
  /// choose_unit_products() throws UNSUPPORTED if the choice is impossible.
  [[nodiscard]] UnitProducts unit_products() const { return unit_products_; }
  void choose_unit_products(UnitProducts chosen);
  [[nodiscard]] bool is_processor() const { return physical_.type == VK_PHYSICAL_DEVICE_TYPE_CPU; }
  /// Address of the codebooks (gpu/stage_parameters.h).
  [[nodiscard]] uint64_t grids() const { return grids_.address(); }

  /// In planning mode, memory is counted but not allocated, writes are dropped and no pipelines are
  /// made.
  void set_plans(bool plans) noexcept { plans_ = plans; }
  [[nodiscard]] bool plans() const { return plans_; }

  // ---- Commands ----

  [[nodiscard]] VkCommandBuffer allocate_commands();
  void free_commands(VkCommandBuffer commands) noexcept;
  void begin(VkCommandBuffer commands, bool once) const;
  void end(VkCommandBuffer commands) const;
  /// Makes all earlier effects visible to later commands, on the device and to the host.
  void barrier(VkCommandBuffer commands) const;
  /// Runs commands after all earlier submissions; returns a number for wait().
  uint64_t submit(std::span<const VkCommandBuffer> commands);
  /// Waits for the end of a submission. Throws STATE if the device is or was lost; if waiting
  /// fails, all work has ended before it throws.
  void wait(uint64_t submission);
  [[nodiscard]] bool has_ended(uint64_t submission);
  /// Runs `work` and waits for all submissions. If that fails, all work has ended before it throws,
  /// because memory in use by the device must not be freed.
  template <class Work>
  void finish(const Work& work) {
    try {
      work();
      wait(last_submission_);
    } catch (...) {
      finish_quietly();
      throw;
    }
  }
  void finish_quietly() noexcept { functions_.DeviceWaitIdle(handle_); }

  // ---- Copies: after all earlier submissions, ended when the function returns ----

  void zero(const Memory& memory);
  void write(const Memory& to, uint64_t offset, const void* from, uint64_t size);
  void read(const Memory& from, uint64_t offset, void* to, uint64_t size);
  void copy(const Memory& to, uint64_t to_offset, const Memory& from, uint64_t from_offset,
            uint64_t size);

  using Upload = gpu::Upload<Context, Memory>;
  static constexpr uint64_t kStagingBytes = gpu::kStagingBytes;

  // ---- Pipelines ----

  /// Makes missing pipelines, on the host's threads.
  void make_pipelines(std::span<const gpu::KernelKey> keys);
  [[nodiscard]] VkPipeline pipeline(const gpu::KernelKey& key) const { return pipelines_.at(key); }
  [[nodiscard]] VkPipelineLayout pipeline_layout() const { return layout_; }

 private:
  friend class Memory;
  struct Staging {
    Memory memory;
    VkCommandBuffer commands = VK_NULL_HANDLE;
  };

  // Functions for Upload.
  friend Upload;
  gpu::StagingSlots& staging_slots() { return staging_slots_; }
  std::byte* staging_bytes(size_t slot) { return staging_[slot].memory.bytes(); }
  void wait_for_staging(const gpu::StagingSlots::Slot& slot);
  uint64_t send_staging(size_t slot, const Memory& to, uint64_t offset, uint64_t size);

  void create_device();
  void create_objects();
  void destroy() noexcept;
  void upload_grids();
  [[nodiscard]] uint32_t memory_type(uint32_t allowed, Access access) const;
  [[nodiscard]] VkPipeline create_pipeline(const gpu::KernelKey& key) const;
  template <class Record>
  void run_copy(const Record& record);
  void check_alive() const;
  /// Notes a lost device and throws for a failure.
  void check(VkResult result, const char* function);

  const tenon_host* host_;
  Instance instance_;
  PhysicalDevice physical_;
  gpu::MemoryAccount memory_;
  uint32_t group_threads_ = 0;
  UnitProducts unit_products_ = UnitProducts::None;
  bool plans_ = false;
  VkPhysicalDeviceMemoryProperties memory_properties_{};
  VkDevice handle_ = VK_NULL_HANDLE;
  DeviceFunctions functions_;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkSemaphore timeline_ = VK_NULL_HANDLE;
  uint64_t last_submission_ = 0;
  std::atomic<bool> lost_ = false;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  PipelineCache cache_;
  std::map<gpu::KernelKey, VkPipeline> pipelines_;
  gpu::StagingSlots staging_slots_;  ///< orders uploads in the queue while weights are loaded
  std::vector<Staging> staging_;     ///< [slots]
  Memory download_;
  VkCommandBuffer copies_ = VK_NULL_HANDLE;
  Memory grids_;
};

}  // namespace tenon::vulkan
