// Buffers of a backend that computes in host memory, and the plugin ABI's functions on them.
#pragma once

#include <cstring>
#include <memory>

#include "abi/failure.h"
#include "abi/host_memory.h"

namespace tenon::backends {

/// The object behind a tenon_buffer of such a backend.
struct HostBuffer {
  const tenon_host* host;
  const char* backend;  ///< for messages
  HostMemory memory;
};

inline HostBuffer* host_buffer(tenon_buffer* buffer) {
  return reinterpret_cast<HostBuffer*>(buffer);
}
inline const HostBuffer* host_buffer(const tenon_buffer* buffer) {
  return reinterpret_cast<const HostBuffer*>(buffer);
}

/// Makes a buffer; called by buffer_create inside its fence.
inline tenon_buffer* make_host_buffer(const tenon_host* host, const char* backend, uint64_t size,
                                      uint32_t purpose) {
  auto made = std::make_unique<HostBuffer>();
  made->host = host;
  made->backend = backend;
  made->memory = HostMemory(host, size, purpose, "a buffer");
  return reinterpret_cast<tenon_buffer*>(made.release());
}

/// Bytes [offset, offset + size) of a buffer. Throws ARGUMENT if they are out of range.
inline std::byte* buffer_range(const HostBuffer& buffer, uint64_t offset, uint64_t size) {
  const uint64_t total = buffer.memory.size();
  if (offset > total || size > total - offset) {
    refuse(TENON_BACKEND_ARGUMENT, "{} bytes at {} of a buffer of {}", size, offset, total);
  }
  return buffer.memory.data() + offset;
}

/// True if the slab of a block exists and contains the whole block; a pool's last slab may be
/// shorter.
inline bool holds_block(const tenon_cache_pool& pool, uint32_t block, uint64_t block_bytes) {
  const HostBuffer* slab = host_buffer(pool.slabs[block / pool.blocks_per_slab]);
  const uint64_t end = uint64_t{block} % pool.blocks_per_slab + 1;
  return slab != nullptr && slab->memory.size() / block_bytes >= end;
}

// Functions for tenon_backend_api.

inline void host_buffer_destroy(tenon_buffer* buffer) noexcept { delete host_buffer(buffer); }

inline tenon_status host_buffer_read(tenon_buffer* buffer, uint64_t offset, void* out,
                                     uint64_t size) noexcept {
  if (buffer == nullptr || (out == nullptr && size > 0)) return TENON_BACKEND_ARGUMENT;
  const HostBuffer& from = *host_buffer(buffer);
  return fence(from.host, from.backend, [&] {
    const std::byte* bytes = buffer_range(from, offset, size);
    if (size > 0) std::memcpy(out, bytes, size);
  });
}

inline tenon_status host_buffer_write(tenon_buffer* buffer, uint64_t offset, const void* in,
                                      uint64_t size) noexcept {
  if (buffer == nullptr || (in == nullptr && size > 0)) return TENON_BACKEND_ARGUMENT;
  const HostBuffer& to = *host_buffer(buffer);
  return fence(to.host, to.backend, [&] {
    std::byte* bytes = buffer_range(to, offset, size);
    if (size > 0) std::memcpy(bytes, in, size);
  });
}

inline tenon_status host_buffer_copy(tenon_buffer* to, uint64_t to_offset, const tenon_buffer* from,
                                     uint64_t from_offset, uint64_t size) noexcept {
  if (to == nullptr || from == nullptr) return TENON_BACKEND_ARGUMENT;
  const HostBuffer& target = *host_buffer(to);
  return fence(target.host, target.backend, [&] {
    std::byte* out = buffer_range(target, to_offset, size);
    const std::byte* in = buffer_range(*host_buffer(from), from_offset, size);
    if (size > 0) std::memmove(out, in, size);
  });
}

}  // namespace tenon::backends
