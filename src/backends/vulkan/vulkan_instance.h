// The loader of Vulkan, an instance, and what its physical devices are: found when devices are listed, and
// not before. What is computed on them is not known here.
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

inline constexpr char kLoader[] = "libvulkan.so.1";

/// What a physical device says about itself, as far as this backend asks.
struct PhysicalDevice {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  std::string name;
  std::string driver;  ///< "llvmpipe, Mesa 22.3.6 (LLVM 15.0.6)"
  uint32_t vendor = 0;
  uint32_t device_id = 0;
  uint32_t driver_version = 0;
  std::array<uint8_t, VK_UUID_SIZE> cache_uuid{};  ///< of its pipeline caches
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
  uint32_t queue_family = 0;  ///< the one with compute
  uint32_t subgroup_size = 0;
  uint32_t shared_bytes = 0;  ///< of a workgroup
  uint32_t most_threads = 0;  ///< of a workgroup
  uint64_t largest_allocation = 0;
  uint64_t memory_total = 0;  ///< of the heap that is the device's own
  uint64_t memory_available = 0;
  uint32_t heap = 0;
  bool has_memory_budget = false;  ///< VK_EXT_memory_budget: `memory_available` is what is free now
  bool has_full_subgroups = false;  ///< VK_EXT_subgroup_size_control can promise them
  bool has_unit_products = false;   ///< what shaders of weights in units need but for matrices:
  bool has_matrices = false;        ///< cooperative matrices of the shape that they multiply with
  std::string unavailable;          ///< why it cannot be used; empty: it can
};

/// What it lists is valid as long as it lives.
class Instance {
 public:
  /// UNSUPPORTED where there is no loader or no driver.
  ///   loader  for the tests, another name
  explicit Instance(const char* loader = kLoader);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  [[nodiscard]] const InstanceFunctions& functions() const { return functions_; }
  /// In the driver's order, with those that cannot be used.
  [[nodiscard]] std::vector<PhysicalDevice> devices() const;
  /// Bytes of a heap that are free now.
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
  GetMatrixShapes matrix_shapes_ = nullptr;  ///< of drivers that have it
};

/// The features that every shader of this backend relies on. Chained: Vulkan reads and writes all.
struct Features {
  Features();
  Features(const Features&) = delete;
  Features& operator=(const Features&) = delete;
  VkPhysicalDeviceFeatures2 base;
  VkPhysicalDeviceVulkan12Features vulkan12;
};

}  // namespace tenon::vulkan
