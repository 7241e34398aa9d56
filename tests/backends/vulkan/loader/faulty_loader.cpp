// A libvulkan.so.1 for tests: forwards each function to the real loader, counts objects, and fails
// on demand without calling the driver. Supports one kind of device per process: device functions
// belong to the latest device.
#include "tests/backends/vulkan/loader/faulty_loader.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "backends/vulkan/vulkan_functions.h"
#include "tests/backends/vulkan/loader/pretended_matrices.h"

namespace tenon::vulkan::faulty {
namespace {

Control control;
std::atomic<bool> lost = false;
PFN_vkGetInstanceProcAddr find_real = nullptr;
PFN_vkGetDeviceProcAddr find_real_of_device = nullptr;

/// Functions whose failure changes nothing: later waits cover them, and no caller exists before
/// memory is freed.
bool has_no_error(std::string_view function) {
  return function == "GetSemaphoreCounterValue" || function == "DeviceWaitIdle";
}

/// True if this call must fail.
bool fails(const char* function) {
  if (control.function != nullptr && std::strcmp(control.function, function) != 0) return false;
  if (control.function == nullptr && has_no_error(function)) return false;
  ++control.calls;
  if (control.fail_call.load() == 0) return false;
  return control.fail_call.fetch_sub(1) == 1;
}

/// Functions that fail on a lost device.
bool is_of_work(std::string_view function) {
  return function == "QueueSubmit" || function == "WaitSemaphores" ||
         function == "GetSemaphoreCounterValue" || function == "DeviceWaitIdle";
}

/// +1 for functions that make an object, -1 for those that destroy one.
int64_t objects_of(std::string_view function) {
  if (function.find("Command") != function.npos && function.find("Pool") == function.npos) return 0;
  if (function.starts_with("Create") || function.starts_with("Allocate")) return 1;
  if (function.starts_with("Destroy") || function.starts_with("Free")) return -1;
  return 0;
}

// ---- Device-local memory ------------------------------------------------------------------------

std::mutex memory_mutex;
std::map<VkDeviceMemory, int64_t> sizes;

void note_allocation(VkDeviceMemory memory, const VkMemoryAllocateInfo& info) {
  // Only memory for shaders has an address, staging memory has none (vulkan_memory.cpp).
  const auto* flags = static_cast<const VkMemoryAllocateFlagsInfo*>(info.pNext);
  if (flags == nullptr || (flags->flags & VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT) == 0) return;
  const std::lock_guard lock(memory_mutex);
  const auto bytes = static_cast<int64_t>(info.allocationSize);
  sizes[memory] = bytes;
  control.bytes_now += bytes;
  if (control.bytes_now > control.bytes_peak) control.bytes_peak = control.bytes_now.load();
}

void note_release(VkDeviceMemory memory) {
  const std::lock_guard lock(memory_mutex);
  const auto found = sizes.find(memory);
  if (found == sizes.end()) return;
  control.bytes_now -= found->second;
  sizes.erase(found);
}

// ---- Functions ----------------------------------------------------------------------------------

/// True if a function destroys an object: its last argument before the allocator, or its only one.
template <class First, class... Rest>
bool gives_back_something(First first, Rest... rest) {
  if constexpr (sizeof...(Rest) == 2) {  // (device, object, allocator)
    return std::get<0>(std::make_tuple(rest...)) != VK_NULL_HANDLE;
  } else {  // (device, allocator)
    return first != VK_NULL_HANDLE;
  }
}

template <class Tag, class Function>
struct Wrapped;
template <class Tag, class Result, class... Arguments>
struct Wrapped<Tag, Result(VKAPI_PTR*)(Arguments...)> {
  static inline Result(VKAPI_PTR* real)(Arguments...) = nullptr;

  static VKAPI_ATTR Result VKAPI_CALL call(Arguments... arguments) {
    constexpr std::string_view kName = Tag::kName;
    if constexpr (std::is_same_v<Result, VkResult>) {
      if (fails(Tag::kName)) {
        if (control.result == VK_ERROR_DEVICE_LOST) lost = true;
        return static_cast<VkResult>(control.result);
      }
      if (kName == "CreateDevice") lost = false;
      if (kName == "DeviceWaitIdle") {  // running work must end before the device is destroyed
        const VkResult result = real(arguments...);
        return lost ? VK_ERROR_DEVICE_LOST : result;
      }
      if (lost && is_of_work(kName)) return VK_ERROR_DEVICE_LOST;
      const VkResult result = real(arguments...);
      if (result >= 0) control.objects += objects_of(kName);
      if constexpr (Tag::kIsAllocation) {
        if (result >= 0) note(arguments...);
      }
      if constexpr (Tag::kIsCache) note_cache(arguments...);
      return result;
    } else {
      if constexpr (Tag::kGivesBack) {
        if (gives_back_something(arguments...)) control.objects += objects_of(kName);
      }
      if constexpr (Tag::kIsRelease) release(arguments...);
      return real(arguments...);
    }
  }

  static void note(VkDevice, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks*,
                   VkDeviceMemory* memory) {
    note_allocation(*memory, *info);
  }
  static void note_cache(VkDevice, const VkPipelineCacheCreateInfo* info,
                         const VkAllocationCallbacks*, VkPipelineCache*) {
    control.initial_cache_bytes = static_cast<int64_t>(info->initialDataSize);
  }
  static void release(VkDevice, VkDeviceMemory memory, const VkAllocationCallbacks*) {
    note_release(memory);
  }
};

constexpr bool is_name(std::string_view name, std::string_view other) { return name == other; }

#define TENON_TAG(function)                                                                  \
  struct Tag##function {                                                                     \
    static constexpr char kName[] = #function;                                               \
    [[maybe_unused]] static constexpr bool kIsAllocation = is_name(kName, "AllocateMemory"); \
    [[maybe_unused]] static constexpr bool kIsRelease = is_name(kName, "FreeMemory");        \
    [[maybe_unused]] static constexpr bool kIsCache = is_name(kName, "CreatePipelineCache"); \
    [[maybe_unused]] static constexpr bool kGivesBack =                                      \
        is_name(kName, "FreeMemory") || std::string_view(kName).starts_with("Destroy");      \
  };
TENON_TAG(CreateInstance)
TENON_VULKAN_INSTANCE_FUNCTIONS(TENON_TAG)
TENON_VULKAN_DEVICE_FUNCTIONS(TENON_TAG)
#undef TENON_TAG

#define TENON_WRAP(function)                                  \
  if (std::strcmp(name, "vk" #function) == 0) {               \
    using Mine = Wrapped<Tag##function, PFN_vk##function>;    \
    Mine::real = reinterpret_cast<PFN_vk##function>(found);   \
    return reinterpret_cast<PFN_vkVoidFunction>(&Mine::call); \
  }

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL find_wrapped_of_device(VkDevice device, const char* name) {
  if (control.hidden != nullptr && std::strcmp(control.hidden, name) == 0) return nullptr;
  const PFN_vkVoidFunction found = find_real_of_device(device, name);
  if (found == nullptr) return nullptr;
  TENON_VULKAN_DEVICE_FUNCTIONS(TENON_WRAP)
  return found;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL find_of_device(VkDevice device, const char* name) {
  return pretended(control, name, find_wrapped_of_device(device, name));
}

PFN_vkVoidFunction find_wrapped_of_instance(VkInstance instance, const char* name) {
  const PFN_vkVoidFunction found = find_real(instance, name);
  if (found == nullptr) return nullptr;
  if (std::strcmp(name, "vkGetDeviceProcAddr") == 0) {
    find_real_of_device = reinterpret_cast<PFN_vkGetDeviceProcAddr>(found);
    return reinterpret_cast<PFN_vkVoidFunction>(&find_of_device);
  }
  TENON_WRAP(CreateInstance)
  TENON_VULKAN_INSTANCE_FUNCTIONS(TENON_WRAP)
  return found;
}

#undef TENON_WRAP

PFN_vkVoidFunction find_of_instance(VkInstance instance, const char* name) {
  return pretended(control, name, find_wrapped_of_instance(instance, name));
}

}  // namespace
}  // namespace tenon::vulkan::faulty

extern "C" {

[[gnu::visibility("default")]] PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance,
                                                                        const char* name) {
  using tenon::vulkan::faulty::find_real;
  if (find_real == nullptr) {
    void* library = ::dlopen(TENON_VULKAN_LOADER, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) return nullptr;
    find_real =
        reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
    // For programs without access to Control.
    const char* matrices = std::getenv("TENON_FAULTY_VULKAN");
    if (matrices != nullptr && std::strcmp(matrices, "matrices") == 0) {
      tenon::vulkan::faulty::control.matrices = tenon::vulkan::faulty::Matrices::Emulated;
    }
  }
  return find_real == nullptr ? nullptr : tenon::vulkan::faulty::find_of_instance(instance, name);
}

[[gnu::visibility("default")]] tenon::vulkan::faulty::Control* tenon_faulty_vulkan() {
  return &tenon::vulkan::faulty::control;
}
}
