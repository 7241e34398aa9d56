// The pipeline data that the backend stores with the host and reads back.
#include "backends/vulkan/pipeline_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "abi/failure.h"
#include "backends/vulkan/vulkan_context.h"
#include "tests/backends/reference/fake_host.h"

namespace tenon::vulkan {
namespace {

PhysicalDevice some_device() {
  PhysicalDevice device;
  device.name = "GPU";
  device.driver = "driver, 1.2";
  device.vendor = 0x10de;
  device.device_id = 7;
  device.driver_version = 3;
  device.cache_uuid.fill(5);
  return device;
}

std::vector<std::byte> cache_of(const PhysicalDevice& device) {
  VkPipelineCacheHeaderVersionOne header{};
  header.headerSize = sizeof(header);
  header.headerVersion = VK_PIPELINE_CACHE_HEADER_VERSION_ONE;
  header.vendorID = device.vendor;
  header.deviceID = device.device_id;
  std::copy(device.cache_uuid.begin(), device.cache_uuid.end(), header.pipelineCacheUUID);
  std::vector<std::byte> bytes(sizeof(header) + 4);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

TEST(VulkanPipelineCache, TakesWhatBeginsAsACacheOfTheDevice) {
  const PhysicalDevice device = some_device();
  const std::vector<std::byte> whole = cache_of(device);
  EXPECT_TRUE(is_cache_of(whole, device));
  for (size_t size = 0; size < sizeof(VkPipelineCacheHeaderVersionOne); ++size) {
    EXPECT_FALSE(is_cache_of(std::span(whole).first(size), device)) << size;
  }
  for (size_t i = 0; i < sizeof(VkPipelineCacheHeaderVersionOne); ++i) {
    std::vector<std::byte> other = whole;
    other[i] ^= std::byte{0x80};
    EXPECT_FALSE(is_cache_of(other, device)) << i;
  }
}

TEST(VulkanPipelineCache, KeysNameDeviceAndDriver) {
  const PhysicalDevice device = some_device();
  const std::string key = pipeline_cache_key(device);
  EXPECT_LE(key.size(), 256u);
  EXPECT_EQ(pipeline_cache_key(device), key);
  std::vector<PhysicalDevice> others(6, device);
  others[0].vendor = 1;
  others[1].device_id = 1;
  others[2].driver_version = 1;
  others[3].driver = "driver, 1.3";
  others[4].name = "another";
  others[5].cache_uuid[15] = 1;
  for (const PhysicalDevice& other : others) EXPECT_NE(pipeline_cache_key(other), key);
}

/// A host that stores entries in memory.
struct KeepingHost {
  explicit KeepingHost(bool keeps = true) : table(*plain.table()) {
    table.user = this;
    // Forwards to the plain host with its own user pointer.
    table.allocate = [](void* user, uint64_t size, uint64_t alignment, uint32_t purpose) {
      const tenon_host& host = of(user);
      return host.allocate(host.user, size, alignment, purpose);
    };
    table.release = [](void* user, void* memory, uint64_t size, uint32_t purpose) {
      const tenon_host& host = of(user);
      host.release(host.user, memory, size, purpose);
    };
    table.num_threads = [](void*) { return uint32_t{1}; };
    table.parallel = [](void* user, const tenon_parallel_job* job) {
      return of(user).parallel(of(user).user, job);
    };
    table.set_error = [](void* user, const char* text, uint64_t length) {
      of(user).set_error(of(user).user, text, length);
    };
    if (!keeps) return;
    table.cache_get = [](void* user, const void* key, uint64_t key_size, void* bytes,
                         uint64_t capacity) -> uint64_t {
      const auto& all = static_cast<KeepingHost*>(user)->kept;
      const auto found = all.find(std::string(static_cast<const char*>(key), key_size));
      if (found == all.end()) return 0;
      if (found->second.size() <= capacity) {
        std::memcpy(bytes, found->second.data(), found->second.size());
      }
      return found->second.size();
    };
    table.cache_put = [](void* user, const void* key, uint64_t key_size, const void* bytes,
                         uint64_t size) {
      auto& self = *static_cast<KeepingHost*>(user);
      ++self.num_put;
      self.kept[std::string(static_cast<const char*>(key), key_size)] =
          std::string(static_cast<const char*>(bytes), size);
    };
  }
  static const tenon_host& of(void* user) {
    return *static_cast<KeepingHost*>(user)->plain.table();
  }

  testing_reference::FakeHost plain;
  tenon_host table;
  std::map<std::string, std::string> kept;
  int num_put = 0;
};

constexpr gpu::KernelKey kSomeKernel{gpu::Kernel::draw, {8, 0, 0, 0, 0}};

/// Returns false without a device.
bool make_a_pipeline(const tenon_host& host) {
  try {
    Context context(&host, 0, uint64_t{100} << 20);
    context.make_pipelines(std::span(&kSomeKernel, 1));
    return true;
  } catch (const backends::Failure& failure) {
    if (failure.status() != TENON_BACKEND_UNSUPPORTED) throw;
    return false;
  }
}

TEST(VulkanPipelineCache, IsPutWhenPipelinesAreMadeAndHadAtTheNextStart) {
  KeepingHost host;
  if (!make_a_pipeline(host.table)) GTEST_SKIP() << "no Vulkan device";
  ASSERT_EQ(host.kept.size(), 1u);
  EXPECT_EQ(host.num_put, 1);
  EXPECT_TRUE(make_a_pipeline(host.table));
  EXPECT_EQ(host.kept.size(), 1u) << "under the same key";
  // Foreign data is not passed to the driver, and is replaced.
  const std::string whole = host.kept.begin()->second;
  for (const std::string& bytes : std::vector<std::string>{"", "x", std::string(100, 'x')}) {
    host.kept.begin()->second = bytes;
    EXPECT_TRUE(make_a_pipeline(host.table));
    EXPECT_EQ(host.kept.begin()->second.size(), whole.size());
  }
}

TEST(VulkanPipelineCache, IsNotMissedByAHostWithoutIt) {
  KeepingHost without(false);
  if (!make_a_pipeline(without.table)) GTEST_SKIP() << "no Vulkan device";
  // A host of an older minor version, whose table ends before the functions.
  KeepingHost old;
  old.table.struct_size = offsetof(tenon_host, cache_get);
  EXPECT_TRUE(make_a_pipeline(old.table));
  EXPECT_EQ(old.num_put, 0);
}

}  // namespace
}  // namespace tenon::vulkan
