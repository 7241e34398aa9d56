// Shaders compiled at build time from shaders/<name>.comp and embedded as SPIR-V words.
#pragma once

#include <cstdint>
#include <span>

#include "backends/gpu/kernel_key.h"

namespace tenon::vulkan {

///   emulated  unit shaders without cooperative matrices (shaders/matrix.glsl)
std::span<const uint32_t> shader_words(gpu::Kernel kernel, bool emulated = false) noexcept;

/// True if the shader, unless emulated, uses cooperative matrices. It is compiled for
/// GL_NV_cooperative_matrix (matrix_modules.h).
bool has_matrices(gpu::Kernel kernel) noexcept;

}  // namespace tenon::vulkan
