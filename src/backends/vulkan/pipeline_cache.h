// The driver's cache of compiled pipelines, kept across processes by the host
// (tenon_host.cache_get). The backend writes no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "backends/vulkan/vulkan_instance.h"
#include "tenon/backend.h"

namespace tenon::vulkan {

/// Use from one thread at a time. Call create() first and destroy() before the device goes.
class PipelineCache {
 public:
  /// Starts with the host's entry for this device, driver and build; ignores others. Throws the
  /// errors of vkCreatePipelineCache for an empty cache.
  void create(const tenon_host* host, const DeviceFunctions& functions, VkDevice device,
              const PhysicalDevice& physical);
  void destroy() noexcept;
  [[nodiscard]] VkPipelineCache handle() const { return handle_; }
  /// Passes the cache to the host if it has grown.
  void keep() noexcept;

 private:
  [[nodiscard]] VkResult make(std::span<const std::byte> initial);

  const tenon_host* host_ = nullptr;  // null: the host keeps nothing
  const DeviceFunctions* functions_ = nullptr;
  VkDevice device_ = VK_NULL_HANDLE;
  VkPipelineCache handle_ = VK_NULL_HANDLE;
  std::string key_;
  uint64_t kept_bytes_ = 0;
};

/// True if the bytes begin like a cache of this device and driver
/// (VkPipelineCacheHeaderVersionOne); drivers may trust them too much.
bool is_cache_of(std::span<const std::byte> bytes, const PhysicalDevice& physical) noexcept;

/// Key of the cache: device, driver and its version, and the shaders of this build. Below 256
/// bytes.
std::string pipeline_cache_key(const PhysicalDevice& physical);

}  // namespace tenon::vulkan
