#include "backends/vulkan/vulkan_instance.h"

#include <algorithm>
#include <cstring>

#include "abi/failure.h"
#include "backends/common/driver_library.h"
#include "backends/gpu/unit_products.h"

namespace tenon::vulkan {
namespace {

/// Shared memory per workgroup of the unit shaders: linear_narrow with eight subgroups.
constexpr uint32_t kUnitSharedBytes = 32768;

/// Folders besides the dynamic loader's own; on macOS it searches none of those in use.
constexpr const char* kLoaderFolders[] = {
    "",
#if defined(__APPLE__)
    "/usr/local/lib/",
    "/opt/homebrew/lib/",
#endif
};

/// Never unloaded: drivers leave threads.
PFN_vkGetInstanceProcAddr open_loader(const char* name) {
  void* library = nullptr;
  for (const char* folder : kLoaderFolders) {
    if (library == nullptr) library = backends::open_driver(folder + std::string(name), true);
  }
  if (library == nullptr) {
    backends::refuse(TENON_BACKEND_UNSUPPORTED, "{} not found: no Vulkan loader is installed",
                     name);
  }
  const auto find = reinterpret_cast<PFN_vkGetInstanceProcAddr>(
      backends::driver_symbol(library, "vkGetInstanceProcAddr"));
  if (find == nullptr) {
    backends::refuse(TENON_BACKEND_UNSUPPORTED, "{} is no Vulkan loader", name);
  }
  return find;
}

/// Whether the loader asks programs to say that they take drivers over another interface, such as
/// MoltenVK (VK_KHR_portability_enumeration): it hides them otherwise.
bool hides_portable_drivers(PFN_vkGetInstanceProcAddr find) {
  const auto list = reinterpret_cast<PFN_vkEnumerateInstanceExtensionProperties>(
      find(VK_NULL_HANDLE, "vkEnumerateInstanceExtensionProperties"));
  uint32_t count = 0;
  if (list == nullptr || list(nullptr, &count, nullptr) < 0) return false;
  std::vector<VkExtensionProperties> extensions(count);
  if (list(nullptr, &count, extensions.data()) < 0) return false;
  extensions.resize(count);
  return std::ranges::any_of(extensions, [](const VkExtensionProperties& extension) {
    return std::strcmp(extension.extensionName, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME) == 0;
  });
}

VkInstance create_instance(PFN_vkGetInstanceProcAddr find) {
  const auto version = reinterpret_cast<PFN_vkEnumerateInstanceVersion>(
      find(VK_NULL_HANDLE, "vkEnumerateInstanceVersion"));
  uint32_t loader_version = 0;
  if (version == nullptr || version(&loader_version) < 0 || loader_version < VK_API_VERSION_1_2) {
    backends::refuse(TENON_BACKEND_UNSUPPORTED, "the Vulkan loader is older than 1.2");
  }
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pEngineName = "tenon";
  application.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  const char* const portability = VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME;
  if (hides_portable_drivers(find)) {
    info.flags = VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &portability;
  }
  const auto create =
      reinterpret_cast<PFN_vkCreateInstance>(find(VK_NULL_HANDLE, "vkCreateInstance"));
  VkInstance instance = VK_NULL_HANDLE;
  const VkResult result =
      create == nullptr ? VK_ERROR_INCOMPATIBLE_DRIVER : create(&info, nullptr, &instance);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
    backends::refuse(TENON_BACKEND_UNSUPPORTED, "no Vulkan driver is installed");
  }
  check_result(result, "vkCreateInstance");
  return instance;
}

/// Name of the first missing feature; empty if the device has all.
const char* missing_feature(const Features& features) {
  const VkPhysicalDeviceVulkan12Features& v = features.vulkan12;
  if (v.bufferDeviceAddress == VK_FALSE) return "bufferDeviceAddress";
  if (v.timelineSemaphore == VK_FALSE) return "timelineSemaphore";
  if (v.scalarBlockLayout == VK_FALSE) return "scalarBlockLayout";
  if (features.base.features.shaderInt64 == VK_FALSE) return "shaderInt64";
  return "";
}

}  // namespace

Features::Features() : base{}, vulkan12{} {
  base.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  base.pNext = &vulkan12;
  vulkan12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
}

Instance::Instance(const char* loader) {
  const PFN_vkGetInstanceProcAddr find = open_loader(loader);
  handle_ = create_instance(find);
  bool has_all = true;
#define TENON_FIND(name)                                                       \
  functions_.name = reinterpret_cast<PFN_vk##name>(find(handle_, "vk" #name)); \
  has_all = has_all && functions_.name != nullptr;
  TENON_VULKAN_INSTANCE_FUNCTIONS(TENON_FIND)
#undef TENON_FIND
  matrix_shapes_ = reinterpret_cast<GetMatrixShapes>(
      find(handle_, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  if (has_all) return;
  if (functions_.DestroyInstance != nullptr) functions_.DestroyInstance(handle_, nullptr);
  backends::refuse(TENON_BACKEND_UNSUPPORTED, "the Vulkan loader lacks functions of Vulkan 1.2");
}

Instance::~Instance() { functions_.DestroyInstance(handle_, nullptr); }

std::vector<PhysicalDevice> Instance::devices() const {
  uint32_t count = 0;
  VkResult result = functions_.EnumeratePhysicalDevices(handle_, &count, nullptr);
  if (result == VK_ERROR_INITIALIZATION_FAILED)
    count = 0;  // no driver could start
  else
    check_result(result, "vkEnumeratePhysicalDevices");
  std::vector<VkPhysicalDevice> handles(count);
  if (count > 0) {
    result = functions_.EnumeratePhysicalDevices(handle_, &count, handles.data());
    check_result(result, "vkEnumeratePhysicalDevices");
  }
  handles.resize(count);
  std::vector<PhysicalDevice> devices;
  for (VkPhysicalDevice handle : handles) {
    PhysicalDevice device;
    device.handle = handle;
    read_properties(device);
    read_extensions(device);
    read_memory(device);
    if (device.unavailable.empty()) find_queue(device);
    devices.push_back(std::move(device));
  }
  if (devices.empty()) {
    backends::refuse(TENON_BACKEND_UNSUPPORTED, "no Vulkan driver offers a device");
  }
  return devices;
}

void Instance::read_properties(PhysicalDevice& device) const {
  VkPhysicalDeviceDriverProperties driver{};
  driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
  VkPhysicalDeviceSubgroupProperties subgroup{};
  subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
  subgroup.pNext = &driver;
  VkPhysicalDeviceMaintenance3Properties maintenance{};
  maintenance.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
  maintenance.pNext = &subgroup;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &maintenance;
  functions_.GetPhysicalDeviceProperties2(device.handle, &properties);
  const VkPhysicalDeviceProperties& base = properties.properties;
  device.name = base.deviceName;
  device.driver = fmt::format("{}, {}", driver.driverName, driver.driverInfo);
  device.vendor = base.vendorID;
  device.device_id = base.deviceID;
  device.driver_version = base.driverVersion;
  std::copy(std::begin(base.pipelineCacheUUID), std::end(base.pipelineCacheUUID),
            device.cache_uuid.begin());
  device.type = base.deviceType;
  device.subgroup_size = subgroup.subgroupSize;
  device.shared_bytes = base.limits.maxComputeSharedMemorySize;
  device.most_threads =
      std::min(base.limits.maxComputeWorkGroupInvocations, base.limits.maxComputeWorkGroupSize[0]);
  device.largest_allocation = maintenance.maxMemoryAllocationSize;
  constexpr VkSubgroupFeatureFlags kNeeded = VK_SUBGROUP_FEATURE_BASIC_BIT |
                                             VK_SUBGROUP_FEATURE_BALLOT_BIT |
                                             VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
  if (base.apiVersion < VK_API_VERSION_1_2) {
    device.unavailable =
        fmt::format("no Vulkan 1.2: the driver has {}.{}", VK_API_VERSION_MAJOR(base.apiVersion),
                    VK_API_VERSION_MINOR(base.apiVersion));
  } else if ((subgroup.supportedOperations & kNeeded) != kNeeded || subgroup.subgroupSize < 4) {
    device.unavailable = "the driver has no subgroup shuffles";
  }
}

/// Finds the compute queue of a device with Vulkan 1.2.
void Instance::find_queue(PhysicalDevice& device) const {
  Features features;
  functions_.GetPhysicalDeviceFeatures2(device.handle, &features.base);
  if (const char* missing = missing_feature(features); missing[0] != '\0') {
    device.unavailable = fmt::format("the driver has no {}", missing);
    return;
  }
  uint32_t count = 0;
  functions_.GetPhysicalDeviceQueueFamilyProperties(device.handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  functions_.GetPhysicalDeviceQueueFamilyProperties(device.handle, &count, families.data());
  const auto computes = [](const VkQueueFamilyProperties& family) {
    return (family.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
  };
  const auto family = std::find_if(families.begin(), families.end(), computes);
  if (family == families.end()) {
    device.unavailable = "the device has no compute queue";
    return;
  }
  device.queue_family = static_cast<uint32_t>(family - families.begin());
}

void Instance::read_extensions(PhysicalDevice& device) const {
  uint32_t count = 0;
  functions_.EnumerateDeviceExtensionProperties(device.handle, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> extensions(count);
  functions_.EnumerateDeviceExtensionProperties(device.handle, nullptr, &count, extensions.data());
  const auto has = [&](const char* name) {
    return std::any_of(extensions.begin(), extensions.end(), [&](const auto& extension) {
      return std::strcmp(extension.extensionName, name) == 0;
    });
  };
  device.has_memory_budget = has(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  device.is_portable = has(kPortabilityExtension);
  read_matrices(device, has(kMatrixExtension));
  if (!has(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME)) return;
  VkPhysicalDeviceSubgroupSizeControlFeaturesEXT subgroups{};
  subgroups.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT;
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &subgroups;
  functions_.GetPhysicalDeviceFeatures2(device.handle, &features);
  device.has_full_subgroups = subgroups.computeFullSubgroups == VK_TRUE;
}

/// Asks only devices with the feature for shapes: others need not answer.
void Instance::read_matrices(PhysicalDevice& device, bool has_extension) const {
  Features features;
  MatrixFeatures matrices;
  if (has_extension) features.vulkan12.pNext = &matrices;
  functions_.GetPhysicalDeviceFeatures2(device.handle, &features.base);
  constexpr uint32_t kMostLanes = 64;
  device.has_unit_products = features.vulkan12.shaderFloat16 == VK_TRUE &&
                             device.most_threads >= gpu::kWideThreads &&
                             device.shared_bytes >= kUnitSharedBytes && device.subgroup_size >= 8 &&
                             device.subgroup_size <= kMostLanes;
  device.has_matrices = device.has_unit_products && matrices.cooperative_matrix == VK_TRUE &&
                        features.vulkan12.vulkanMemoryModel == VK_TRUE &&
                        has_used_shape(device.handle);
}

bool Instance::has_used_shape(VkPhysicalDevice device) const {
  uint32_t count = 0;
  if (matrix_shapes_ == nullptr || matrix_shapes_(device, &count, nullptr) != VK_SUCCESS) {
    return false;
  }
  std::vector<MatrixShape> shapes(count);
  if (matrix_shapes_(device, &count, shapes.data()) != VK_SUCCESS) return false;
  shapes.resize(count);
  return std::ranges::any_of(shapes, is_used_shape);
}

void Instance::read_memory(PhysicalDevice& device) const {
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  functions_.GetPhysicalDeviceMemoryProperties2(device.handle, &memory);
  const VkPhysicalDeviceMemoryProperties& heaps = memory.memoryProperties;
  for (uint32_t i = 0; i < heaps.memoryHeapCount; ++i) {
    const bool local = (heaps.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0;
    if (!local || heaps.memoryHeaps[i].size <= device.memory_total) continue;
    device.memory_total = heaps.memoryHeaps[i].size;
    device.heap = i;
  }
  device.memory_available = available_bytes(device);
}

uint64_t Instance::available_bytes(const PhysicalDevice& device) const {
  if (!device.has_memory_budget) return device.memory_total;
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{};
  budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  memory.pNext = &budget;
  functions_.GetPhysicalDeviceMemoryProperties2(device.handle, &memory);
  const uint64_t used = std::min(budget.heapUsage[device.heap], budget.heapBudget[device.heap]);
  return budget.heapBudget[device.heap] - used;
}

}  // namespace tenon::vulkan
