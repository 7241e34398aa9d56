// The Vulkan loader, an instance and its physical devices, opened when devices are first listed.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/vulkan/cooperative_matrix.h"
#include "backends/vulkan/vulkan_functions.h"
#include "tenon/backend.h"

namespace tenon::vulkan {

#ifdef _WIN32
inline constexpr char kLoader[] = "vulkan-1.dll";
#elif defined(__APPLE__)
// Of LunarG's SDK and of Homebrew (MoltenVK).
inline constexpr char kLoader[] = "libvulkan.1.dylib";
#else
inline constexpr char kLoader[] = "libvulkan.so.1";
#endif

/// Extension of drivers over another interface; a device that has it must be told so.
inline constexpr char kPortabilityExtension[] = "VK_KHR_portability_subset";

/// Properties of a physical device that this backend uses.
struct PhysicalDevice {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  std::string name;
  std::string driver;  ///< "llvmpipe, Mesa 22.3.6 (LLVM 15.0.6)"
  uint32_t vendor = 0;
  uint32_t device_id = 0;
  uint32_t driver_version = 0;
  std::array<uint8_t, VK_UUID_SIZE> cache_uuid{};  ///< identifies its pipeline caches
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
  uint32_t queue_family = 0;  ///< with compute
  uint32_t subgroup_size = 0;
  uint32_t shared_bytes = 0;  ///< per workgroup
  uint32_t most_threads = 0;  ///< per workgroup
  uint64_t largest_allocation = 0;
  uint64_t memory_total = 0;  ///< of the device-local heap
  uint64_t memory_available = 0;
  uint32_t heap = 0;
  bool has_memory_budget = false;   ///< VK_EXT_memory_budget: `memory_available` is current
  bool is_portable = false;         ///< VK_KHR_portability_subset, as MoltenVK has it
  bool has_full_subgroups = false;  ///< VK_EXT_subgroup_size_control can guarantee them
  bool has_unit_products = false;   ///< supports unit shaders, apart from matrices
  bool has_matrices = false;        ///< supports cooperative matrices of the shape used
  std::string unavailable;          ///< why the device is unusable; empty if usable
};

/// Listed devices are valid while the instance lives.
class Instance {
 public:
  /// Throws UNSUPPORTED without a loader or driver.
  ///   loader  another name, for tests
  explicit Instance(const char* loader = kLoader);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  [[nodiscard]] const InstanceFunctions& functions() const { return functions_; }
  /// Devices in the driver's order, including unusable ones.
  [[nodiscard]] std::vector<PhysicalDevice> devices() const;
  /// Free bytes of a heap.
  [[nodiscard]] uint64_t available_bytes(const PhysicalDevice& device) const;

 private:
  void read_properties(PhysicalDevice& device) const;
  void read_extensions(PhysicalDevice& device) const;
  void read_memory(PhysicalDevice& device) const;
  void find_queue(PhysicalDevice& device) const;
  void read_matrices(PhysicalDevice& device, bool has_extension) const;
  [[nodiscard]] bool has_used_shape(VkPhysicalDevice device) const;

  VkInstance handle_ = VK_NULL_HANDLE;
  InstanceFunctions functions_;
  GetMatrixShapes matrix_shapes_ = nullptr;  ///< null if the driver lacks it
};

/// Features that all shaders of this backend need. A chain: Vulkan reads and writes all structures.
struct Features {
  Features();
  Features(const Features&) = delete;
  Features& operator=(const Features&) = delete;
  VkPhysicalDeviceFeatures2 base;
  VkPhysicalDeviceVulkan12Features vulkan12;
};

}  // namespace tenon::vulkan
