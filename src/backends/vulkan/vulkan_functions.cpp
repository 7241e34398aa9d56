#include "backends/vulkan/vulkan_functions.h"

#include "abi/failure.h"

namespace tenon::vulkan {

const char* result_name(VkResult result) noexcept {
  switch (result) {
    case VK_NOT_READY:
      return "VK_NOT_READY";
    case VK_TIMEOUT:
      return "VK_TIMEOUT";
    case VK_INCOMPLETE:
      return "VK_INCOMPLETE";
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case VK_ERROR_INITIALIZATION_FAILED:
      return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_DEVICE_LOST:
      return "VK_ERROR_DEVICE_LOST";
    case VK_ERROR_MEMORY_MAP_FAILED:
      return "VK_ERROR_MEMORY_MAP_FAILED";
    case VK_ERROR_LAYER_NOT_PRESENT:
      return "VK_ERROR_LAYER_NOT_PRESENT";
    case VK_ERROR_EXTENSION_NOT_PRESENT:
      return "VK_ERROR_EXTENSION_NOT_PRESENT";
    case VK_ERROR_FEATURE_NOT_PRESENT:
      return "VK_ERROR_FEATURE_NOT_PRESENT";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
      return "VK_ERROR_INCOMPATIBLE_DRIVER";
    case VK_ERROR_TOO_MANY_OBJECTS:
      return "VK_ERROR_TOO_MANY_OBJECTS";
    default:
      return "another failure of the driver";
  }
}

void check_result(VkResult result, const char* function) {
  if (result >= 0) return;
  const bool no_memory =
      result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
      result == VK_ERROR_TOO_MANY_OBJECTS || result == VK_ERROR_MEMORY_MAP_FAILED;
  if (no_memory) {
    backends::refuse(TENON_BACKEND_NO_MEMORY, "{}: out of memory ({})", function,
                     result_name(result));
  }
  if (result == VK_ERROR_DEVICE_LOST) {
    backends::refuse(TENON_BACKEND_STATE, "{}: the device is lost ({})", function,
                     result_name(result));
  }
  backends::refuse(TENON_BACKEND_INTERNAL, "{}: {} ({})", function, result_name(result),
                   static_cast<int>(result));
}

}  // namespace tenon::vulkan
