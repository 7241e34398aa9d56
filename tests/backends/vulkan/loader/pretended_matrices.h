// A driver that pretends to have VK_KHR_cooperative_matrix: modules that use it run as their
// emulated counterparts, or are refused.
#pragma once

#include "tests/backends/vulkan/loader/faulty_loader.h"
#include "vulkan/vulkan_core.h"

namespace tenon::vulkan::faulty {

/// The replacement of `found`, or `found` itself.
PFN_vkVoidFunction pretended(const Control& control, const char* name, PFN_vkVoidFunction found);

}  // namespace tenon::vulkan::faulty
