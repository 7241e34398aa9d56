// The driver's cache of compiled pipelines, kept from process to process by the host (tenon_host.cache_get). The backend
// writes no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "backends/vulkan/vulkan_instance.h"
#include "tenon/backend.h"

namespace tenon::vulkan {

/// One thread at a time; create() before all else, destroy() while the device is there.
class PipelineCache {
 public:
  /// With what the host kept of this device, driver and build. What is not of them is not used. Throws what
  /// vkCreatePipelineCache says of an empty cache.
  void create(const tenon_host* host, const DeviceFunctions& functions, VkDevice device,
              const PhysicalDevice& physical);
  void destroy() noexcept;
  [[nodiscard]] VkPipelineCache handle() const { return handle_; }
  /// Hands it to the host where it has grown.
  void keep() noexcept;

 private:
  [[nodiscard]] VkResult make(std::span<const std::byte> initial);

  const tenon_host* host_ = nullptr;  // null: it keeps nothing
  const DeviceFunctions* functions_ = nullptr;
  VkDevice device_ = VK_NULL_HANDLE;
  VkPipelineCache handle_ = VK_NULL_HANDLE;
  std::string key_;
  uint64_t kept_bytes_ = 0;
};

/// Whether the bytes begin as a cache of this device and driver does (VkPipelineCacheHeaderVersionOne): a driver may
/// trust more in them than it should.
bool is_cache_of(std::span<const std::byte> bytes, const PhysicalDevice& physical) noexcept;

/// What the cache depends on: device, driver and its version, and the shaders of this build. Below 256 bytes.
std::string pipeline_cache_key(const PhysicalDevice& physical);

}  // namespace tenon::vulkan
