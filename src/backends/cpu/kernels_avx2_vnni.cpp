// The kernels compiled for: AVX2, FMA, F16C and AVX-VNNI.
#define TENON_CPU_ISA avx2_vnni
#include "backends/cpu/kernel_table.h"

namespace tenon::cpu {

const Kernels& kernels_avx2_vnni() noexcept {
  static constexpr Kernels kTable = avx2_vnni::kernel_table("avx2_vnni");
  return kTable;
}

}  // namespace tenon::cpu
