// One source of model bytes: a path, a file descriptor and range, memory, or a host's reader. What
// the bytes mean is decided elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/file_mapping.h"
#include "base/system.h"

namespace tenon {

/// A host's reader. `read` copies up to `size_bytes` bytes at `offset` to `buffer` and returns how
/// many, 0 at the end, or a negative value on failure.
struct HostReader {
  void* user = nullptr;
  uint64_t size_bytes = 0;
  int64_t (*read)(void* user, uint64_t offset, void* buffer, uint64_t size_bytes) = nullptr;
  bool concurrent = false;  ///< whether `read` may be called from several threads at once
};

/// Bytes that do not change, at offsets 0..size(). Reads are positioned and may run in parallel.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// A regular file. Throws Io for anything else and for whatever the system refuses.
  static std::shared_ptr<const ByteSource> from_path(const std::string& path,
                                                     std::shared_ptr<System> system);
  /// Bytes [offset, offset + size_bytes) of an open regular file, which is duplicated: the caller
  /// may close his. size_bytes 0 means "to the end". name: what messages call it. Throws Argument
  /// when the range does not lie in the file.
  static std::shared_ptr<const ByteSource> from_fd(int fd, uint64_t offset, uint64_t size_bytes,
                                                   std::string name,
                                                   std::shared_ptr<System> system);
  /// Memory of the caller, which must outlive the source.
  static std::shared_ptr<const ByteSource> from_memory(std::span<const std::byte> bytes,
                                                       std::string name);
  /// A host's reader, which must outlive the source. Throws Argument when `read` is null.
  static std::shared_ptr<const ByteSource> from_reader(const HostReader& reader, std::string name);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] uint64_t size() const { return size_bytes_; }
  /// The bytes themselves where they are in memory already, else empty.
  [[nodiscard]] virtual std::span<const std::byte> memory() const { return {}; }

  /// Fills `out` from `offset`. Throws Io naming the source and the offset when reading fails, and
  /// "model file changed" when the file is no longer what it was when it was opened. Argument when
  /// the range does not lie in the source.
  void read(uint64_t offset, std::span<std::byte> out) const;

  /// The bytes [offset, offset + size_bytes) in memory without a copy; see FileMapping for the
  /// danger. Throws as read does, and Unsupported for a host's reader. A view of the caller's
  /// memory stays his.
  [[nodiscard]] FileMapping map(uint64_t offset, uint64_t size_bytes) const;

 protected:
  ByteSource(std::string name, uint64_t size_bytes)
      : name_(std::move(name)), size_bytes_(size_bytes) {}
  /// The range lies in the source.
  virtual void read_checked(uint64_t offset, std::span<std::byte> out) const = 0;
  [[nodiscard]] virtual FileMapping map_checked(uint64_t offset, uint64_t size_bytes) const;

 private:
  void check_range(uint64_t offset, uint64_t size_bytes) const;

  std::string name_;
  uint64_t size_bytes_;
};

}  // namespace tenon
