// The shaders, compiled at build time from shaders/ and embedded as words of SPIR-V: a kernel is
// shaders/<name>.comp.
#pragma once

#include <cstdint>
#include <span>

#include "backends/gpu/kernel_key.h"

namespace tenon::vulkan {

///   emulated  those of weights in units without cooperative matrices (shaders/matrix.glsl)
std::span<const uint32_t> shader_words(gpu::Kernel kernel, bool emulated = false) noexcept;

/// Whether the shader multiplies cooperative matrices where it is not emulated. It is compiled for
/// GL_NV_cooperative_matrix (matrix_modules.h).
bool has_matrices(gpu::Kernel kernel) noexcept;

}  // namespace tenon::vulkan
