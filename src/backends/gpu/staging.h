// Staging memory for writes to a device, shared by all drivers except for the copy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/gpu/staging_slots.h"

namespace tenon::gpu {

inline constexpr uint64_t kStagingBytes = uint64_t{4} << 20;
inline constexpr size_t kStagingSlots = 4;

/// A staging buffer of kStagingBytes that a thread fills and sends. Any number of threads may have
/// one. Context provides, for Upload only,
///   StagingSlots& staging_slots();
///   std::byte* staging_bytes(size_t slot);
///   void wait_for_staging(const StagingSlots::Slot& slot);  // for the end of its last copy
///   uint64_t send_staging(size_t slot, const Memory& to, uint64_t offset, uint64_t size);
///                                    // starts a copy from its start; returns the copy's number
template <class Context, class Memory>
class Upload {
 public:
  explicit Upload(Context& context) : context_(context) {
    const StagingSlots::Slot slot = context_.staging_slots().take();
    slot_ = slot.index;
    try {
      context_.wait_for_staging(slot);
    } catch (...) {
      context_.staging_slots().give_back(slot_);
      throw;
    }
  }
  ~Upload() { context_.staging_slots().give_back(slot_); }
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  [[nodiscard]] std::byte* bytes() const { return context_.staging_bytes(slot_); }
  /// Copies the first `size` bytes. The thread must not touch the buffer again.
  void send(const Memory& to, uint64_t offset, uint64_t size) {
    context_.staging_slots().send(slot_,
                                  [&] { return context_.send_staging(slot_, to, offset, size); });
  }

 private:
  Context& context_;
  size_t slot_ = 0;
};

/// Calls part(first, count) for each piece of at most kStagingBytes of `size`.
template <class Part>
void in_staging_parts(uint64_t size, const Part& part) {
  for (uint64_t done = 0; done < size; done += kStagingBytes) {
    part(done, std::min(kStagingBytes, size - done));
  }
}

/// Starts a copy of host memory, which may be reused on return.
template <class Context, class Memory>
void upload(Context& context, const Memory& to, uint64_t offset, const void* from, uint64_t size) {
  in_staging_parts(size, [&](uint64_t first, uint64_t count) {
    Upload<Context, Memory> staged(context);
    std::memcpy(staged.bytes(), static_cast<const std::byte*>(from) + first, count);
    staged.send(to, offset + first, count);
  });
}

}  // namespace tenon::gpu
