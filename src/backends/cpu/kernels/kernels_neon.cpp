// Kernels for Armv8.2 with the dot product instructions.
#define TENON_CPU_ISA neon
#include "backends/cpu/kernels/kernel_table.h"

namespace tenon::cpu {

const Kernels& kernels_neon() noexcept {
  static constexpr Kernels kTable = neon::kernel_table("neon");
  return kTable;
}

}  // namespace tenon::cpu
