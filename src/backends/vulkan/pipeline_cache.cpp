#include "backends/vulkan/pipeline_cache.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "abi/failure.h"
#include "backends/vulkan/vulkan_shaders.h"

namespace tenon::vulkan {
namespace {

/// FNV-1a, 64 bits: distinguishes builds and drivers; not secure.
class KeyHash {
 public:
  void add(std::span<const std::byte> bytes) noexcept {
    for (const std::byte byte : bytes) {
      value_ = (value_ ^ static_cast<uint64_t>(byte)) * 0x100000001b3u;
    }
  }
  [[nodiscard]] uint64_t value() const noexcept { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;
};

uint64_t hash_of_shaders() noexcept {
  KeyHash hash;
  for (uint32_t i = 0; i <= static_cast<uint32_t>(gpu::Kernel::wkv); ++i) {
    hash.add(std::as_bytes(shader_words(static_cast<gpu::Kernel>(i))));
  }
  return hash.value();
}

/// A host of an older minor version lacks these functions.
bool has_cache(const tenon_host* host) noexcept {
  constexpr uint32_t kBytes = offsetof(tenon_host, cache_put) + sizeof(tenon_host::cache_put);
  return host->struct_size >= kBytes && host->cache_get != nullptr && host->cache_put != nullptr;
}

std::vector<std::byte> kept_by(const tenon_host* host, std::string_view key) {
  const uint64_t size = host->cache_get(host->user, key.data(), key.size(), nullptr, 0);
  std::vector<std::byte> bytes(size);
  if (size == 0) return bytes;
  // Another process may have replaced the entry meanwhile.
  const uint64_t again = host->cache_get(host->user, key.data(), key.size(), bytes.data(), size);
  if (again != size) bytes.clear();
  return bytes;
}

}  // namespace

bool is_cache_of(std::span<const std::byte> bytes, const PhysicalDevice& physical) noexcept {
  VkPipelineCacheHeaderVersionOne header{};
  if (bytes.size() < sizeof(header)) return false;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return header.headerSize >= sizeof(header) && header.headerSize <= bytes.size() &&
         header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
         header.vendorID == physical.vendor && header.deviceID == physical.device_id &&
         std::ranges::equal(header.pipelineCacheUUID, physical.cache_uuid);
}

std::string pipeline_cache_key(const PhysicalDevice& physical) {
  KeyHash names;
  names.add(std::as_bytes(std::span(physical.name)));
  names.add(std::as_bytes(std::span(physical.driver)));
  std::string key =
      fmt::format("vulkan:{:x}:{:x}:{:x}:{:x}:{:x}:", physical.vendor, physical.device_id,
                  physical.driver_version, names.value(), hash_of_shaders());
  for (const uint8_t byte : physical.cache_uuid) key += fmt::format("{:02x}", byte);
  return key;
}

VkResult PipelineCache::make(std::span<const std::byte> initial) {
  VkPipelineCacheCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  info.initialDataSize = initial.size();
  info.pInitialData = initial.empty() ? nullptr : initial.data();
  return functions_->CreatePipelineCache(device_, &info, nullptr, &handle_);
}

void PipelineCache::create(const tenon_host* host, const DeviceFunctions& functions,
                           VkDevice device, const PhysicalDevice& physical) {
  functions_ = &functions;
  device_ = device;
  if (has_cache(host)) {
    host_ = host;
    key_ = pipeline_cache_key(physical);
    const std::vector<std::byte> kept = kept_by(host, key_);
    if (is_cache_of(kept, physical) && make(kept) == VK_SUCCESS) {
      kept_bytes_ = kept.size();
      return;
    }
    handle_ = VK_NULL_HANDLE;
  }
  check_result(make({}), "vkCreatePipelineCache");
}

void PipelineCache::destroy() noexcept {
  if (handle_ != VK_NULL_HANDLE) functions_->DestroyPipelineCache(device_, handle_, nullptr);
  handle_ = VK_NULL_HANDLE;
}

void PipelineCache::keep() noexcept {
  if (host_ == nullptr) return;
  try {
    size_t size = 0;
    if (functions_->GetPipelineCacheData(device_, handle_, &size, nullptr) != VK_SUCCESS) return;
    if (size == kept_bytes_) return;
    std::vector<std::byte> bytes(size);
    if (functions_->GetPipelineCacheData(device_, handle_, &size, bytes.data()) != VK_SUCCESS) {
      return;
    }
    host_->cache_put(host_->user, key_.data(), key_.size(), bytes.data(), size);
    kept_bytes_ = size;
  } catch (...) {  // no memory for a copy: nothing is kept
  }
}

}  // namespace tenon::vulkan
