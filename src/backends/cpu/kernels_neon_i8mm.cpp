// The kernels compiled for: Armv8.2 with the dot product and the integer matrix instructions.
#define TENON_CPU_ISA neon_i8mm
#include "backends/cpu/kernel_table.h"

namespace tenon::cpu {

const Kernels& kernels_neon_i8mm() noexcept {
  static constexpr Kernels kTable = neon_i8mm::kernel_table("neon_i8mm");
  return kTable;
}

}  // namespace tenon::cpu
