#include "backends/vulkan/vulkan_shaders.h"

#include <iterator>

// One array `<name>_words` for each shader, from the build.
#include <tenon_vulkan_shaders.inc>

namespace tenon::vulkan {

std::span<const uint32_t> shader_words(gpu::Kernel kernel) noexcept {
  switch (kernel) {
#define TENON_KERNEL(name) \
  case gpu::Kernel::name:  \
    return name##_words;
#define TENON_MATRIX_KERNEL(name) \
  TENON_KERNEL(name##_floats)     \
  TENON_KERNEL(name##_scaled)     \
  TENON_KERNEL(name##_k)          \
  TENON_KERNEL(name##_codebook)   \
  TENON_KERNEL(name##_small)
#include "backends/gpu/kernel_list.h"
#undef TENON_MATRIX_KERNEL
#undef TENON_KERNEL
    default:  // kernels of matrix instructions: no stage here has one (Types::families)
      return {};
  }
}

}  // namespace tenon::vulkan
