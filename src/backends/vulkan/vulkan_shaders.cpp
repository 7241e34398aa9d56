#include "backends/vulkan/vulkan_shaders.h"

#include <iterator>

// Arrays `<name>_words`, one per shader, from the build.
#include <tenon_vulkan_shaders.inc>

namespace tenon::vulkan {

bool has_matrices(gpu::Kernel kernel) noexcept {
  using enum gpu::Kernel;
  return (kernel >= linear_narrow_f16 && kernel <= linear_narrow_q6_k) ||
         (kernel >= linear_wide_f16 && kernel <= linear_wide_q6_k);
}

std::span<const uint32_t> shader_words(gpu::Kernel kernel, bool emulated) noexcept {
  switch (kernel) {
#define TENON_KERNEL(name) \
  case gpu::Kernel::name:  \
    return name##_words;
#define TENON_MATRIX_KERNEL(name) TENON_MATRIX_VARIANTS(TENON_KERNEL, name)
#include "backends/gpu/kernel_list.h"
#undef TENON_MATRIX_KERNEL
#define TENON_VARIANT(name) \
  case gpu::Kernel::name:   \
    return emulated ? std::span<const uint32_t>(name##_emulated_words) : name##_words;
#define TENON_UNIT_KERNEL(name) TENON_UNIT_VARIANTS(TENON_VARIANT, name)
    TENON_KERNEL(pack_rows)
    TENON_UNIT_KERNEL(linear_narrow)
    TENON_UNIT_KERNEL(linear_wide)
#undef TENON_UNIT_KERNEL
#undef TENON_VARIANT
#undef TENON_KERNEL
    default:  // unit kernels without a stage in this backend
      return {};
  }
}

}  // namespace tenon::vulkan
