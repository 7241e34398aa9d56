// Tables of the Vulkan functions used, filled when an instance and a device are made: nothing is
// linked. Names are the specification's.
#pragma once

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan_core.h>

namespace tenon::vulkan {

// clang-format off
#define TENON_VULKAN_INSTANCE_FUNCTIONS(X)                                                        \
  X(DestroyInstance) X(EnumeratePhysicalDevices) X(GetPhysicalDeviceProperties2)                  \
  X(GetPhysicalDeviceFeatures2) X(GetPhysicalDeviceMemoryProperties2)                             \
  X(GetPhysicalDeviceQueueFamilyProperties) X(EnumerateDeviceExtensionProperties) X(CreateDevice) \
  X(GetDeviceProcAddr)

#define TENON_VULKAN_DEVICE_FUNCTIONS(X)                                                          \
  X(DestroyDevice) X(GetDeviceQueue) X(DeviceWaitIdle) X(QueueSubmit)                             \
  X(CreateBuffer) X(DestroyBuffer) X(GetBufferMemoryRequirements) X(GetBufferDeviceAddress)       \
  X(AllocateMemory) X(FreeMemory) X(BindBufferMemory) X(MapMemory)                                \
  X(CreateSemaphore) X(DestroySemaphore) X(WaitSemaphores) X(GetSemaphoreCounterValue)            \
  X(CreateCommandPool) X(DestroyCommandPool) X(AllocateCommandBuffers) X(FreeCommandBuffers)      \
  X(BeginCommandBuffer) X(EndCommandBuffer)                                                       \
  X(CmdPipelineBarrier) X(CmdCopyBuffer) X(CmdFillBuffer) X(CmdBindPipeline)                      \
  X(CmdPushConstants) X(CmdDispatchIndirect) X(CmdDispatch)                                   \
  X(CreateShaderModule) X(DestroyShaderModule) X(CreatePipelineLayout) X(DestroyPipelineLayout)   \
  X(CreateComputePipelines) X(DestroyPipeline) X(CreatePipelineCache) X(DestroyPipelineCache)     \
  X(GetPipelineCacheData)
// clang-format on

#define TENON_VULKAN_MEMBER(name) PFN_vk##name name = nullptr;

struct InstanceFunctions {
  TENON_VULKAN_INSTANCE_FUNCTIONS(TENON_VULKAN_MEMBER)
};
struct DeviceFunctions {
  TENON_VULKAN_DEVICE_FUNCTIONS(TENON_VULKAN_MEMBER)
};

#undef TENON_VULKAN_MEMBER

/// Name of a result in the specification: "VK_ERROR_DEVICE_LOST".
const char* result_name(VkResult result) noexcept;

/// Throws for a failure: NO_MEMORY for missing memory, STATE for a lost device, else INTERNAL;
/// names the function and the result.
void check_result(VkResult result, const char* function);

}  // namespace tenon::vulkan
