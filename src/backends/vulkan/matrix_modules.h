// Converts cooperative matrix shaders to the form of drivers. glslang before 13.0 supports only
// GL_NV_cooperative_matrix, so shaders use that; drivers have VK_KHR_cooperative_matrix, with other
// instruction numbers and operand orders, and a use in each type.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::vulkan {

/// Specialisation constants that identify a matrix type's use by its sizes: A [rows, columns], B
/// [columns, x], sums [rows, x] (shaders/matrix.glsl).
inline constexpr uint32_t kRowsOfWeightsId = 10;
inline constexpr uint32_t kRowsOfXId = 11;
inline constexpr uint32_t kColumnsId = 12;

/// Converts a module of SPV_NV_cooperative_matrix to SPV_KHR_cooperative_matrix. Throws INTERNAL
/// for any other module.
std::vector<uint32_t> with_khr_matrices(std::span<const uint32_t> module);

}  // namespace tenon::vulkan
