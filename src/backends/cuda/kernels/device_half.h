// f16 as bits, with GPU instructions. Results equal those of gpu/kernels/half.inl, except for NaN.
#pragma once

#include "backends/cuda/kernels/device.h"

namespace tenon::cuda {

#ifdef __CUDACC__

TENON_DEVICE float half_to_float(uint bits) {
  float value;
  asm("{ .reg .b16 half; cvt.u16.u32 half, %1; cvt.f32.f16 %0, half; }" : "=f"(value) : "r"(bits));
  return value;
}

// Rounds to nearest, ties to even. Overflow gives infinity; NaN stays NaN.
TENON_DEVICE uint float_to_half(float value) {
  uint bits;
  asm("{ .reg .b16 half; cvt.rn.f16.f32 half, %1; cvt.u32.u16 %0, half; }"
      : "=r"(bits)
      : "f"(value));
  return bits;
}

#else
#include "backends/gpu/kernels/half.inl"
#endif

}  // namespace tenon::cuda
