// Listing devices, options, and messages for unsupported requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "abi/failure.h"
#include "backends/vulkan/vulkan_entry.h"
#include "backends/vulkan/vulkan_instance.h"
#include "backends/vulkan/vulkan_shaders.h"
#include "tests/backends/reference/fake_host.h"

namespace tenon::vulkan {
namespace {

using testing::HasSubstr;
using testing_reference::FakeHost;

const tenon_backend_api& api() {
  return *tenon_vulkan_backend_entry(TENON_BACKEND_MAJOR, TENON_BACKEND_MINOR);
}

/// A device made with an option; without a key, with none.
class Made {
 public:
  explicit Made(const char* key = nullptr, const char* value = nullptr, uint32_t index = 0) {
    const tenon_backend_option option = {key, value};
    status = api().create_device(host.table(), index, &option, key == nullptr ? 0 : 1, &device);
  }
  ~Made() { api().destroy_device(device); }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  FakeHost host;
  tenon_status status = TENON_BACKEND_INTERNAL;
  tenon_device* device = nullptr;
};

/// True if the machine has a driver with a usable first device.
bool has_device() { return Made().status == TENON_BACKEND_OK; }

TEST(VulkanInstance, SaysThatThereIsNoLoader) {
  try {
    const Instance instance("libvulkan-that-is-missing.so.1");
    FAIL() << "it was found";
  } catch (const backends::Failure& failure) {
    EXPECT_EQ(failure.status(), TENON_BACKEND_UNSUPPORTED);
    EXPECT_THAT(failure.what(), HasSubstr("libvulkan-that-is-missing.so.1 not found"));
  }
}

TEST(VulkanInstance, SaysThatALibraryIsNoLoader) {
  try {
    const Instance instance("libc.so.6");
    FAIL() << "it was taken";
  } catch (const backends::Failure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("libc.so.6 is no Vulkan loader"));
  }
}

TEST(VulkanResults, BecomeTheStatusesOfThePluginInterface) {
  const auto status_of = [](VkResult result) -> tenon_status {
    try {
      check_result(result, "vkSomething");
      return TENON_BACKEND_OK;
    } catch (const backends::Failure& failure) {
      EXPECT_THAT(failure.what(), HasSubstr("vkSomething"));
      EXPECT_THAT(failure.what(), HasSubstr(result_name(result)));
      return failure.status();
    }
  };
  EXPECT_EQ(status_of(VK_SUCCESS), TENON_BACKEND_OK);
  EXPECT_EQ(status_of(VK_TIMEOUT), TENON_BACKEND_OK);  // not a failure
  EXPECT_EQ(status_of(VK_ERROR_OUT_OF_DEVICE_MEMORY), TENON_BACKEND_NO_MEMORY);
  EXPECT_EQ(status_of(VK_ERROR_OUT_OF_HOST_MEMORY), TENON_BACKEND_NO_MEMORY);
  EXPECT_EQ(status_of(VK_ERROR_DEVICE_LOST), TENON_BACKEND_STATE);
  EXPECT_EQ(status_of(VK_ERROR_UNKNOWN), TENON_BACKEND_INTERNAL);
}

TEST(VulkanDevices, AreListedOrTheReasonIsGiven) {
  FakeHost host;
  std::vector<tenon_device_info> infos(8);
  uint32_t count = 0;
  const tenon_status status =
      api().list_devices(host.table(), infos.data(), sizeof(tenon_device_info), 8, &count);
  if (status != TENON_BACKEND_OK) {
    EXPECT_EQ(status, TENON_BACKEND_UNSUPPORTED);
    EXPECT_STRNE(host.error, "");
    GTEST_SKIP() << host.error;
  }
  ASSERT_GT(count, 0u);
  for (uint32_t i = 0; i < std::min(count, 8u); ++i) {
    EXPECT_EQ(infos[i].name, i == 0 ? "vulkan" : "vulkan " + std::to_string(i));
    EXPECT_STRNE(infos[i].description, "");
    // A processor that runs shaders is for tests: `auto` must not choose it.
    const bool is_llvmpipe = std::string(infos[i].description).starts_with("llvmpipe");
    if (is_llvmpipe) {
      EXPECT_EQ(infos[i].kind, TENON_DEVICE_REFERENCE);
    }
  }
}

TEST(VulkanDevices, RefuseANumberThatThereIsNot) {
  if (!has_device()) GTEST_SKIP() << "no Vulkan device";
  const Made made(nullptr, nullptr, 1000);
  EXPECT_EQ(made.status, TENON_BACKEND_ARGUMENT);
  EXPECT_THAT(made.host.error, HasSubstr("1000"));
}

TEST(VulkanOptions, MemoryLimitIsAWholeNumberOfBytes) {
  for (const char* wrong : {"", "many", "-1", "1.5", "1G"}) {
    SCOPED_TRACE(wrong);
    const Made made("memory_limit", wrong);
    EXPECT_EQ(made.status, TENON_BACKEND_ARGUMENT);
    EXPECT_THAT(made.host.error, HasSubstr("memory_limit"));
  }
}

TEST(VulkanOptions, ProductsAreOfThreeKinds) {
  const Made wrong("products", "fast");
  EXPECT_EQ(wrong.status, TENON_BACKEND_ARGUMENT);
  EXPECT_THAT(wrong.host.error, HasSubstr("auto, f32, emulated"));
  if (!has_device()) GTEST_SKIP() << "no Vulkan device";
  for (const auto& [kind, precision] :
       {std::pair{"f32", TENON_PRECISION_F32}, {"emulated", TENON_PRECISION_F16}}) {
    const Made made("products", kind);
    ASSERT_EQ(made.status, TENON_BACKEND_OK) << made.host.error;
    tenon_device_info info{};
    info.struct_size = sizeof(info);
    ASSERT_EQ(api().describe(made.device, &info), TENON_BACKEND_OK);
    EXPECT_EQ(info.precision_blocks, precision) << kind;
    EXPECT_EQ(info.precision_bf16, precision) << kind;
    EXPECT_EQ(info.precision_float, TENON_PRECISION_F32) << kind;
  }
}

TEST(VulkanMemory, StaysBelowItsLimit) {
  if (!has_device()) GTEST_SKIP() << "no Vulkan device";
  constexpr uint64_t kLimit = uint64_t{1} << 20;
  const Made made("memory_limit", std::to_string(kLimit).c_str());
  ASSERT_EQ(made.status, TENON_BACKEND_OK) << made.host.error;
  const auto create = [&](uint64_t size, tenon_buffer** buffer) {
    return api().buffer_create(made.device, size, TENON_MEMORY_CACHE, buffer);
  };
  tenon_buffer* buffer = nullptr;
  EXPECT_EQ(create(kLimit, &buffer), TENON_BACKEND_NO_MEMORY);  // the codebooks take some
  EXPECT_THAT(made.host.error, HasSubstr("limit"));
  ASSERT_EQ(create(kLimit / 2, &buffer), TENON_BACKEND_OK);
  tenon_buffer* other = nullptr;
  EXPECT_EQ(create(kLimit / 2, &other), TENON_BACKEND_NO_MEMORY);
  api().buffer_destroy(buffer);
  ASSERT_EQ(create(kLimit / 2, &other), TENON_BACKEND_OK);  // freed memory is available again
  api().buffer_destroy(other);
}

TEST(VulkanMemory, CopiesWithinABufferAsIfByWayOfAnother) {
  if (!has_device()) GTEST_SKIP() << "no Vulkan device";
  const Made made;
  tenon_buffer* buffer = nullptr;
  ASSERT_EQ(api().buffer_create(made.device, 100, TENON_MEMORY_CACHE, &buffer), TENON_BACKEND_OK);
  std::vector<uint8_t> bytes(100);
  for (uint8_t i = 0; i < 100; ++i) bytes[i] = i;
  ASSERT_EQ(api().buffer_write(buffer, 0, bytes.data(), 100), TENON_BACKEND_OK);
  ASSERT_EQ(api().buffer_copy(buffer, 10, buffer, 0, 80), TENON_BACKEND_OK);
  std::copy_backward(bytes.begin(), bytes.begin() + 80, bytes.begin() + 90);
  std::vector<uint8_t> read(100);
  ASSERT_EQ(api().buffer_read(buffer, 0, read.data(), 100), TENON_BACKEND_OK);
  EXPECT_EQ(read, bytes);
  api().buffer_destroy(buffer);
}

TEST(VulkanShaders, AreSpirVAndSmallEnoughToShip) {
  constexpr uint32_t kMagic = 0x07230203;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i <= static_cast<uint32_t>(gpu::Kernel::wkv); ++i) {
    const auto words = shader_words(static_cast<gpu::Kernel>(i));
    ASSERT_FALSE(words.empty());
    EXPECT_EQ(words[0], kMagic);
    bytes += words.size_bytes();
  }
  EXPECT_LT(bytes, uint64_t{5} << 20);
}

}  // namespace
}  // namespace tenon::vulkan
