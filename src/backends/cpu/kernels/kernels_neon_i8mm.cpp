// Kernels for Armv8.2 with products by the integer matrix instructions.
#define TENON_CPU_ISA neon_i8mm
#include "backends/cpu/kernels/kernel_products.h"

namespace tenon::cpu {

const Kernels& kernels_neon_i8mm() noexcept {
  static const Kernels kTable = [] {
    Kernels table = kernels_neon();
    table.name = "neon_i8mm";
    neon_i8mm::set_products(table);
    return table;
  }();
  return kTable;
}

}  // namespace tenon::cpu
