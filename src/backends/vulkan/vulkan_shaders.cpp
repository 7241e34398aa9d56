#include "backends/vulkan/vulkan_shaders.h"

#include <iterator>

// One array `<name>_words` for each shader, from the build.
#include <tenon_vulkan_shaders.inc>

namespace tenon::vulkan {

std::span<const uint32_t> shader_words(Shader shader) noexcept {
  switch (shader) {
#define TENON_SHADER(name) \
  case Shader::name:       \
    return name##_words;
#define TENON_MATRIX_SHADER(name) \
  TENON_SHADER(name##_floats)     \
  TENON_SHADER(name##_scaled)     \
  TENON_SHADER(name##_k)          \
  TENON_SHADER(name##_codebook)   \
  TENON_SHADER(name##_small)
#include "backends/vulkan/vulkan_shader_list.h"
#undef TENON_MATRIX_SHADER
#undef TENON_SHADER
  }
  return {};
}

}  // namespace tenon::vulkan
