#include "tests/backends/vulkan/loader/pretended_matrices.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "backends/vulkan/cooperative_matrix.h"
#include "backends/vulkan/matrix_modules.h"
#include "backends/vulkan/vulkan_shaders.h"

namespace tenon::vulkan::faulty {
namespace {

const Control* control = nullptr;
PFN_vkEnumerateDeviceExtensionProperties next_extensions = nullptr;
PFN_vkGetPhysicalDeviceFeatures2 next_features = nullptr;
PFN_vkCreateDevice next_device = nullptr;
PFN_vkCreateShaderModule next_module = nullptr;

VKAPI_ATTR VkResult VKAPI_CALL extensions(VkPhysicalDevice device, const char* layer,
                                          uint32_t* count, VkExtensionProperties* all) {
  if (all == nullptr) {
    const VkResult result = next_extensions(device, layer, count, nullptr);
    ++*count;
    return result;
  }
  --*count;
  const VkResult result = next_extensions(device, layer, count, all);
  VkExtensionProperties& last = all[(*count)++];
  std::strcpy(last.extensionName, kMatrixExtension);
  return result;
}

VKAPI_ATTR void VKAPI_CALL features(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* all) {
  next_features(device, all);
  for (auto* one = static_cast<VkBaseOutStructure*>(all->pNext); one != nullptr; one = one->pNext) {
    if (one->sType != kMatrixFeaturesType) continue;
    reinterpret_cast<MatrixFeatures*>(one)->cooperative_matrix = VK_TRUE;
  }
}

VKAPI_ATTR VkResult VKAPI_CALL shapes(VkPhysicalDevice, uint32_t* count, MatrixShape* all) {
  *count = 2;
  if (all == nullptr) return VK_SUCCESS;
  for (MatrixShape* shape : {&all[0], &all[1]}) {
    shape->m = shape->n = shape->k = 16;
    shape->a_type = shape->b_type = kMatrixFloat16;
    shape->c_type = shape->result_type = kMatrixFloat32;
    shape->scope = kMatrixScopeSubgroup;
  }
  all[0].m = 8;
  if (control->matrices == Matrices::OfOtherShapes) all[1].n = 8;
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice device,
                                             const VkDeviceCreateInfo* given,
                                             const VkAllocationCallbacks* allocator,
                                             VkDevice* made) {
  std::vector<const char*> names(given->ppEnabledExtensionNames,
                                 given->ppEnabledExtensionNames + given->enabledExtensionCount);
  std::erase_if(names, [](const char* name) { return std::strcmp(name, kMatrixExtension) == 0; });
  VkDeviceCreateInfo info = *given;
  info.enabledExtensionCount = static_cast<uint32_t>(names.size());
  info.ppEnabledExtensionNames = names.data();
  return next_device(device, &info, allocator, made);
}

/// True if the module declares a capability, an instruction (17) of two words.
bool has_capability(std::span<const uint32_t> module, uint32_t capability) {
  const uint32_t wanted[] = {2u << 16 | 17u, capability};
  return !std::ranges::search(module, wanted).empty();
}

VKAPI_ATTR VkResult VKAPI_CALL create_module(VkDevice device, const VkShaderModuleCreateInfo* given,
                                             const VkAllocationCallbacks* allocator,
                                             VkShaderModule* made) {
  constexpr uint32_t kMatricesNv = 5357;
  constexpr uint32_t kMatricesKhr = 6022;
  const std::span module(given->pCode, given->codeSize / sizeof(uint32_t));
  if (has_capability(module, kMatricesNv)) return VK_ERROR_UNKNOWN;
  if (!has_capability(module, kMatricesKhr)) return next_module(device, given, allocator, made);
  if (control->matrices == Matrices::Refused) return VK_ERROR_UNKNOWN;
  for (uint32_t i = 0; i <= static_cast<uint32_t>(gpu::Kernel::linear_wide_q6_k); ++i) {
    const auto kernel = static_cast<gpu::Kernel>(i);
    if (!has_matrices(kernel)) continue;
    if (!std::ranges::equal(with_khr_matrices(shader_words(kernel)), module)) continue;
    const std::span<const uint32_t> words = shader_words(kernel, true);
    VkShaderModuleCreateInfo info = *given;
    info.codeSize = words.size_bytes();
    info.pCode = words.data();
    return next_module(device, &info, allocator, made);
  }
  return VK_ERROR_UNKNOWN;
}

}  // namespace

PFN_vkVoidFunction pretended(const Control& given, const char* name, PFN_vkVoidFunction found) {
  if (given.matrices == Matrices::None) return found;
  control = &given;
  const std::string_view wanted = name;
  const auto stand_before = [found](auto& next, auto mine) {
    next = reinterpret_cast<std::remove_reference_t<decltype(next)>>(found);
    return reinterpret_cast<PFN_vkVoidFunction>(mine);
  };
  if (wanted == "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR") {
    return reinterpret_cast<PFN_vkVoidFunction>(&shapes);
  }
  if (wanted == "vkEnumerateDeviceExtensionProperties") {
    return stand_before(next_extensions, &extensions);
  }
  if (wanted == "vkGetPhysicalDeviceFeatures2") return stand_before(next_features, &features);
  if (wanted == "vkCreateDevice") return stand_before(next_device, &create_device);
  if (wanted == "vkCreateShaderModule") return stand_before(next_module, &create_module);
  return found;
}

}  // namespace tenon::vulkan::faulty
