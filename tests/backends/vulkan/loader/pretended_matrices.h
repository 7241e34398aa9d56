// A driver that seems to have VK_KHR_cooperative_matrix: modules that use it are run as their emulated counterparts, or
// refused.
#pragma once

#include "tests/backends/vulkan/loader/faulty_loader.h"
#include "vulkan/vulkan_core.h"

namespace tenon::vulkan::faulty {

/// The function that stands before `found`, or `found`.
PFN_vkVoidFunction pretended(const Control& control, const char* name, PFN_vkVoidFunction found);

}  // namespace tenon::vulkan::faulty
