// The part of VK_KHR_cooperative_matrix that this backend uses: headers before 1.3.255 lack it.
// Values are from the Vulkan registry.
#pragma once

#include "backends/vulkan/vulkan_functions.h"

namespace tenon::vulkan {

inline constexpr char kMatrixExtension[] = "VK_KHR_cooperative_matrix";
inline constexpr auto kMatrixFeaturesType = static_cast<VkStructureType>(1000506000);
inline constexpr auto kMatrixPropertiesType = static_cast<VkStructureType>(1000506001);

struct MatrixFeatures {
  VkStructureType type = kMatrixFeaturesType;
  void* next = nullptr;
  VkBool32 cooperative_matrix = VK_FALSE;
  VkBool32 robust_buffer_access = VK_FALSE;
};

inline constexpr uint32_t kMatrixFloat16 = 0;
inline constexpr uint32_t kMatrixFloat32 = 1;
inline constexpr uint32_t kMatrixScopeSubgroup = 3;

/// A product [m, k] x [k, n] that a device supports.
struct MatrixShape {
  VkStructureType type = kMatrixPropertiesType;
  void* next = nullptr;
  uint32_t m = 0;
  uint32_t n = 0;
  uint32_t k = 0;
  uint32_t a_type = 0;
  uint32_t b_type = 0;
  uint32_t c_type = 0;
  uint32_t result_type = 0;
  VkBool32 saturates = VK_FALSE;
  uint32_t scope = 0;
};

/// vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR.
using GetMatrixShapes = VkResult(VKAPI_PTR*)(VkPhysicalDevice, uint32_t* count,
                                             MatrixShape* shapes);

/// The shape used by shaders (shaders/matrix.glsl).
constexpr bool is_used_shape(const MatrixShape& shape) noexcept {
  return shape.m == 16 && shape.n == 16 && shape.k == 16 && shape.a_type == kMatrixFloat16 &&
         shape.b_type == kMatrixFloat16 && shape.c_type == kMatrixFloat32 &&
         shape.result_type == kMatrixFloat32 && shape.saturates == VK_FALSE &&
         shape.scope == kMatrixScopeSubgroup;
}

}  // namespace tenon::vulkan
