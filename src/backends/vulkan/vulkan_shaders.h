// The shaders, compiled at build time from shaders/ and embedded as words of SPIR-V: a kernel is
// shaders/<name>.comp.
#pragma once

#include <cstdint>
#include <span>

#include "backends/gpu/kernel_key.h"

namespace tenon::vulkan {

std::span<const uint32_t> shader_words(gpu::Kernel kernel) noexcept;

}  // namespace tenon::vulkan
