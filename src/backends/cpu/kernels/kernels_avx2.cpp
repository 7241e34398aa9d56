// Kernels for AVX2, FMA and F16C.
#define TENON_CPU_ISA avx2
#include "backends/cpu/kernels/kernel_table.h"

namespace tenon::cpu {

const Kernels& kernels_avx2() noexcept {
  static constexpr Kernels kTable = avx2::kernel_table("avx2");
  return kTable;
}

}  // namespace tenon::cpu
