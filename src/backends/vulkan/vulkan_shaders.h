// The shaders, compiled at build time from shaders/ and embedded as words of SPIR-V.
#pragma once

#include <cstdint>
#include <span>

namespace tenon::vulkan {

/// The list of shaders (vulkan_shader_list.h) as names: shaders/<name>.comp each.
enum class Shader : uint32_t {
#define TENON_SHADER(name) name,
#include "backends/vulkan/vulkan_shader_list.h"
#undef TENON_SHADER
};

std::span<const uint32_t> shader_words(Shader shader) noexcept;

}  // namespace tenon::vulkan
