// Names and constants of a GPU backend's kernels. The backend implements and compiles them.
#pragma once

#include <array>
#include <cstdint>

#include "backends/gpu/kernel_variants.h"
#include "quant/formats.h"

namespace tenon::gpu {

/// Names from the lists (kernel_list.h, unit_kernel_list.h), with a name per variant.
enum class Kernel : uint32_t {
#define TENON_KERNEL(name) name,
#define TENON_MATRIX_KERNEL(name) TENON_MATRIX_VARIANTS(TENON_KERNEL, name)
#define TENON_UNIT_KERNEL(name) TENON_UNIT_VARIANTS(TENON_KERNEL, name)
#include "backends/gpu/kernel_list.h"
#include "backends/gpu/unit_kernel_list.h"
#undef TENON_UNIT_KERNEL
#undef TENON_KERNEL
#undef TENON_MATRIX_KERNEL
};

/// A kernel with its constants, of which the first is the workgroup size; a device may compile it
/// for them.
struct KernelKey {
  Kernel kernel;
  std::array<uint32_t, 5> constants;
  auto operator<=>(const KernelKey&) const = default;
};

/// Matrix kernel for weights of this format.
///   floats  its first variant
inline Kernel for_format(Kernel floats, Format format) noexcept {
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
  return static_cast<Kernel>(static_cast<uint32_t>(floats) + family);
}

/// Unit kernel for weights of this format, which must have units (weight_units.h).
///   f16  its first variant
constexpr Kernel for_units(Kernel f16, Format format) noexcept {
  uint32_t variant = 0;
  if (format == Format::Q8_0) variant = 1;
  if (format == Format::Q4_K) variant = 2;
  if (format == Format::Q6_K) variant = 3;
  return static_cast<Kernel>(static_cast<uint32_t>(f16) + variant);
}

}  // namespace tenon::gpu
