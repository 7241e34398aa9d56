// What backends keep from process to process (compiled kernels), as files of a folder that the host names. What is in
// them is the backend's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/system.h"

namespace tenon {

/// One file for each key, "tenon-<hash of the key>.kernels": a header with the key, the bytes and a checksum of all.
/// A file that is cut, damaged or of another key is as none. Nothing here throws or fails: without the cache things
/// are slower. Any thread.
class KernelCache {
 public:
  static constexpr uint64_t kMostKeyBytes = 256;
  static constexpr uint64_t kMostBytes = uint64_t{64} << 20;

  ///   folder  is there already, and as much to be trusted as a plugin: drivers read what is in it
  KernelCache(std::shared_ptr<System> system, std::string folder, Log log);

  /// What was put under the key last.
  [[nodiscard]] std::optional<std::vector<std::byte>> get(std::span<const std::byte> key) noexcept;
  void put(std::span<const std::byte> key, std::span<const std::byte> bytes) noexcept;

 private:
  [[nodiscard]] std::string path_of(std::span<const std::byte> key) const;
  void tell(LogLevel level, const std::string& path, const char* what) noexcept;

  std::shared_ptr<System> system_;
  std::string folder_;
  Log log_;
};

}  // namespace tenon
