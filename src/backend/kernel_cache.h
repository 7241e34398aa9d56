// Stores backends' compiled kernels across processes, as files in a folder that the host names.
// Contents are opaque.
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

/// One file per key, "tenon-<hash of the key>.kernels": a header with the key, the bytes and a
/// checksum of both. Truncated, damaged and foreign files count as missing. No function throws or
/// fails: without the cache, only speed is lost. Any thread.
class KernelCache {
 public:
  static constexpr uint64_t kMostKeyBytes = 256;
  static constexpr uint64_t kMostBytes = uint64_t{64} << 20;

  ///   folder  must exist and be as trusted as a plugin: drivers read its files
  KernelCache(std::shared_ptr<System> system, std::string folder, Log log);

  /// The latest bytes stored under the key.
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
