// A driver context with its stream, memory and kernels, shared by executables and buffers.
// Everything but Upload may be called by one thread at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "backends/cuda/cuda_driver.h"
#include "backends/cuda/kernels/unit_rings.h"
#include "backends/gpu/device_memory.h"
#include "backends/gpu/kernel_key.h"
#include "backends/gpu/staging.h"
#include "backends/gpu/step_layout.h"
#include "tenon/backend.h"

namespace tenon::cuda {

class Context;

enum class Access {
  Device,  ///< memory of the device; zeroed
  Host,    ///< page-locked memory that device and host read and write
};

/// One allocation. Move-only.
class Memory {
 public:
  Memory() = default;
  /// Throws NO_MEMORY that names `what` if memory or the limit is exhausted.
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
  [[nodiscard]] gpu::Address address() const { return address_; }
  /// Host address of page-locked memory.
  [[nodiscard]] std::byte* bytes() const { return bytes_; }

 private:
  void swap(Memory& other) noexcept;

  Context* context_ = nullptr;
  uint64_t size_bytes_ = 0;
  gpu::Address address_ = 0;
  std::byte* bytes_ = nullptr;
};

/// A position in the stream that the host can wait for. Move-only.
class Event {
 public:
  explicit Event(Context& context);
  ~Event();
  Event(Event&& other) noexcept
      : context_(other.context_), handle_(std::exchange(other.handle_, nullptr)) {}
  Event& operator=(Event&&) = delete;

  /// Records the position after all work submitted so far.
  void record();
  /// Waits until the device reaches the position. Throws STATE if the device is lost.
  void wait();
  [[nodiscard]] bool has_come();

 private:
  Context* context_;
  EventHandle handle_ = nullptr;
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
  [[nodiscard]] const DeviceFacts& facts() const { return facts_; }
  [[nodiscard]] uint64_t memory_available();
  [[nodiscard]] bool is_lost() const noexcept { return lost_ != kSuccess; }
  /// Threads per group that shares a row.
  [[nodiscard]] uint32_t group_threads() const { return group_threads_; }
  /// Multiprocessors that multiply weights in units; 0 if the device has too little shared memory.
  [[nodiscard]] uint32_t multiprocessors() const {
    return facts_.shared_on_request < kSharedOnRequest ? 0 : facts_.multiprocessors;
  }
  /// Address of the codebooks (gpu/codebook_points.h).
  [[nodiscard]] gpu::Address grids() const { return grids_.address(); }

  /// In planning mode, memory is counted but not allocated, and writes are dropped.
  void set_plans(bool plans) noexcept { plans_ = plans; }

  // ---- Work in stream order ----

  void launch(const gpu::KernelKey& key, gpu::Address parameters, uint32_t groups, uint32_t rows);
  /// Copies from and to page-locked memory.
  void send(gpu::Address to, const std::byte* from, uint64_t size);
  void take(std::byte* to, gpu::Address from, uint64_t size);
  /// Waits for all work.
  void finish();
  /// Like finish(), for destructors; ignores a lost device.
  void finish_quietly() noexcept;

  // ---- Copies that end before the function returns ----

  void write(const Memory& to, uint64_t offset, const void* from, uint64_t size);
  void read(const Memory& from, uint64_t offset, void* to, uint64_t size);
  void copy(const Memory& to, uint64_t to_offset, const Memory& from, uint64_t from_offset,
            uint64_t size);

  using Upload = gpu::Upload<Context, Memory>;
  static constexpr uint64_t kStagingBytes = gpu::kStagingBytes;

 private:
  friend class Memory;
  friend class Event;
  /// Makes the context current in this thread for its own lifetime. Throws STATE if the device is
  /// lost.
  class Current {
   public:
    explicit Current(Context& context);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    Context& context_;
  };
  struct Staging {
    Memory memory;
    Event sent;
  };

  // Functions for Upload.
  friend Upload;
  gpu::StagingSlots& staging_slots() { return staging_slots_; }
  std::byte* staging_bytes(size_t slot) { return staging_[slot].memory.bytes(); }
  void wait_for_staging(const gpu::StagingSlots::Slot& slot);
  uint64_t send_staging(size_t slot, const Memory& to, uint64_t offset, uint64_t size);

  void create(uint64_t memory_limit);
  void load_kernels();
  void destroy() noexcept;
  /// Notes a lost device and throws for a failure.
  ///   size_bytes  of the memory concerned; 0: none
  void check(Result result, const char* function, uint64_t size_bytes = 0);

  const tenon_host* host_;
  Driver driver_;
  DeviceFacts facts_;
  gpu::MemoryAccount memory_;
  uint32_t group_threads_ = 0;
  bool plans_ = false;
  ContextHandle handle_ = nullptr;
  StreamHandle stream_ = nullptr;
  LibraryHandle library_ = nullptr;
  std::vector<KernelHandle> kernels_;    ///< by gpu::Kernel
  std::atomic<Result> lost_ = kSuccess;  ///< reason of the loss
  gpu::StagingSlots staging_slots_;      ///< orders uploads in the stream while weights are loaded
  std::vector<Staging> staging_;         ///< [slots]
  uint64_t uploads_ = 0;
  Memory download_;
  Memory grids_;
};

}  // namespace tenon::cuda
