// Kernels for any machine.
#define TENON_CPU_ISA portable
#include "backends/cpu/kernels/kernel_table.h"

namespace tenon::cpu {

const Kernels& kernels_portable() noexcept {
  static constexpr Kernels kTable = portable::kernel_table("portable");
  return kTable;
}

}  // namespace tenon::cpu
