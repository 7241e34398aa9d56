// Kernels for AVX-512 F, BW, VL, DQ and VNNI.
#define TENON_CPU_ISA avx512
#include "backends/cpu/kernels/kernel_table.h"

namespace tenon::cpu {

const Kernels& kernels_avx512() noexcept {
  static constexpr Kernels kTable = avx512::kernel_table("avx512");
  return kTable;
}

}  // namespace tenon::cpu
