// Kernels for AVX2, FMA and F16C, with products by AVX-VNNI.
#define TENON_CPU_ISA avx2_vnni
#include "backends/cpu/kernels/kernel_products.h"

namespace tenon::cpu {

const Kernels& kernels_avx2_vnni() noexcept {
  static const Kernels kTable = [] {
    Kernels table = kernels_avx2();
    table.name = "avx2_vnni";
    avx2_vnni::set_products(table);
    return table;
  }();
  return kTable;
}

}  // namespace tenon::cpu
