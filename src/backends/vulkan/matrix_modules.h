// Shaders of cooperative matrices in the form that drivers take. glslang before 13.0 knows those of
// GL_NV_cooperative_matrix alone, so that is how shaders are compiled; drivers have VK_KHR_cooperative_matrix, which
// differs by numbers of instructions, the order of operands, and that a type names its use.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::vulkan {

/// Which use a matrix type has is told by its sizes, which are specialisation constants with these numbers: of A
/// [rows, columns], of B [columns, x], of sums [rows, x] (shaders/matrix.glsl).
inline constexpr uint32_t kRowsOfWeightsId = 10;
inline constexpr uint32_t kRowsOfXId = 11;
inline constexpr uint32_t kColumnsId = 12;

/// A module of SPV_NV_cooperative_matrix as one of SPV_KHR_cooperative_matrix. INTERNAL where it is no such module.
std::vector<uint32_t> with_khr_matrices(std::span<const uint32_t> module);

}  // namespace tenon::vulkan
