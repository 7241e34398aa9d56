// Mapped bytes of a file, shared between processes. Models are usually read by ByteSource::read,
// which copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/system.h"

namespace tenon {

/// Read-only bytes of a file, or a view of memory. Move-only. SIGBUS ends the process if another
/// process truncates the file: only for hosts that ask for mapping and vouch for the file.
class FileMapping {
 public:
  FileMapping() = default;
  /// A view of bytes that the caller keeps alive.
  explicit FileMapping(std::span<const std::byte> bytes) : bytes_(bytes) {}
  /// Maps [offset, offset + size_bytes) of `fd` at any offset. Throws Io naming `name`.
  FileMapping(std::shared_ptr<System> system, int fd, uint64_t offset, uint64_t size_bytes,
              std::string_view name);
  ~FileMapping();
  FileMapping(FileMapping&& other) noexcept { swap(other); }
  FileMapping& operator=(FileMapping&& other) noexcept {
    FileMapping(std::move(other)).swap(*this);
    return *this;
  }
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void swap(FileMapping& other) noexcept {
    std::swap(system_, other.system_);
    std::swap(pages_, other.pages_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    std::swap(bytes_, other.bytes_);
  }

  std::shared_ptr<System> system_;
  void* pages_ = nullptr;
  uint64_t mapped_bytes_ = 0;
  std::span<const std::byte> bytes_;
};

}  // namespace tenon
