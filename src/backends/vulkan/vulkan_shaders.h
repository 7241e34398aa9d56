// The shaders, compiled at build time from shaders/ and embedded as words of SPIR-V.
#pragma once

#include <cstdint>
#include <span>

#include "quant/formats.h"

namespace tenon::vulkan {

/// The list of shaders (vulkan_shader_list.h) as names, each shaders/<name>.comp; of a matrix shader, five.
enum class Shader : uint32_t {
#define TENON_SHADER(name) name,
#define TENON_MATRIX_SHADER(name) \
  name##_floats, name##_scaled, name##_k, name##_codebook, name##_small,
#include "backends/vulkan/vulkan_shader_list.h"
#undef TENON_SHADER
#undef TENON_MATRIX_SHADER
};

/// A matrix shader for weights of this format.
///   floats  its first variant
constexpr Shader for_format(Shader floats, Format format) noexcept {
  const auto within = [format](Format first, Format last) {
    return format >= first && format <= last;
  };
  uint32_t family = 4;
  if (find_format(format)->block_values == 1) {
    family = 0;
  } else if (within(Format::Q4_0, Format::Q8_0)) {
    family = 1;
  } else if (within(Format::Q2_K, Format::Q6_K)) {
    family = 2;
  } else if (within(Format::IQ2_XXS, Format::IQ1_S) || within(Format::IQ3_S, Format::IQ2_S) ||
             format == Format::IQ1_M) {
    family = 3;
  }
  return static_cast<Shader>(static_cast<uint32_t>(floats) + family);
}

std::span<const uint32_t> shader_words(Shader shader) noexcept;

}  // namespace tenon::vulkan
