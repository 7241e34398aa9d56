// Sources of model bytes: a path, a range of a file descriptor, memory, or a host's reader. Knows
// nothing of their format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/file_mapping.h"
#include "base/system.h"

namespace tenon {

/// A host's reader. `read` copies up to `size_bytes` bytes at `offset` to `buffer`. It returns the
/// number copied, 0 at the end, or a negative value on failure.
struct HostReader {
  void* user = nullptr;
  uint64_t size_bytes = 0;
  int64_t (*read)(void* user, uint64_t offset, void* buffer, uint64_t size_bytes) = nullptr;
  bool concurrent = false;  ///< `read` may be called from several threads at once
};

/// Immutable bytes at offsets 0..size(). Reads are positioned and may run in parallel.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Opens a regular file. Throws Io for any other kind of file and on system errors.
  static std::shared_ptr<const ByteSource> from_path(const std::string& path,
                                                     std::shared_ptr<System> system);
  /// Bytes [offset, offset + size_bytes) of an open regular file. The descriptor is duplicated, so
  /// the caller may close it. size_bytes 0 means up to the end. Messages use `name`. Throws
  /// Argument if the range exceeds the file.
  static std::shared_ptr<const ByteSource> from_fd(int fd, uint64_t offset, uint64_t size_bytes,
                                                   std::string name,
                                                   std::shared_ptr<System> system);
  /// The caller's memory, which must outlive the source.
  static std::shared_ptr<const ByteSource> from_memory(std::span<const std::byte> bytes,
                                                       std::string name);
  /// A host's reader, which must outlive the source. Throws Argument when `read` is null.
  static std::shared_ptr<const ByteSource> from_reader(const HostReader& reader, std::string name);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] uint64_t size() const { return size_bytes_; }
  /// The whole source, if it is in memory already; else empty.
  [[nodiscard]] virtual std::span<const std::byte> memory() const { return {}; }

  /// Fills `out` from `offset`. Throws Argument if the range exceeds the source, Io with name and
  /// offset if reading fails, and Io "model file changed" if the file changed after opening.
  void read(uint64_t offset, std::span<std::byte> out) const;

  /// Maps [offset, offset + size_bytes) without a copy; FileMapping states the danger. Throws like
  /// read(), and Unsupported for a host's reader. For the caller's memory, the mapping is a view.
  [[nodiscard]] FileMapping map(uint64_t offset, uint64_t size_bytes) const;

 protected:
  ByteSource(std::string name, uint64_t size_bytes)
      : name_(std::move(name)), size_bytes_(size_bytes) {}
  /// Reads a range that lies in the source.
  virtual void read_checked(uint64_t offset, std::span<std::byte> out) const = 0;
  [[nodiscard]] virtual FileMapping map_checked(uint64_t offset, uint64_t size_bytes) const;

 private:
  void check_range(uint64_t offset, uint64_t size_bytes) const;

  std::string name_;
  uint64_t size_bytes_;
};

}  // namespace tenon
