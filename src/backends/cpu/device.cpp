#include "backends/cpu/device.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "abi/strided.h"
#include "backends/cpu/operation.h"
#include "backends/cpu/phases/plain_phase.h"
#include "quant/formats.h"

namespace tenon::cpu {
namespace {

struct Variant {
  const char* name;
  bool (*runs_here)();
  const Kernels& (*kernels)() noexcept;
};

#if defined(__x86_64__)
/// The processor's instructions by cpuid, since names that compilers have for them differ, and some
/// have no run time for names at all. Registers count only if the system saves them (xgetbv).
struct Cpuid {
  Cpuid() noexcept {
    unsigned a = 0, b = 0, d = 0;
    if (__get_cpuid(1, &a, &b, &basic, &d) == 0 || (basic & bit_OSXSAVE) == 0) return;
    unsigned low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    saved = low;
    if (__get_cpuid_count(7, 0, &last, &wide, &more, &d) != 0 && last >= 1) {
      unsigned c = 0;
      (void)__get_cpuid_count(7, 1, &further, &b, &c, &d);
    }
  }
  unsigned basic = 0;    ///< leaf 1, ecx
  unsigned saved = 0;    ///< registers that the system saves
  unsigned last = 0;     ///< number of the last part of leaf 7
  unsigned wide = 0;     ///< leaf 7, ebx
  unsigned more = 0;     ///< leaf 7, ecx
  unsigned further = 0;  ///< leaf 7 part 1, eax
};
constexpr bool all_of(unsigned value, unsigned bits) { return (value & bits) == bits; }

[[maybe_unused]] bool has_avx2() {
  constexpr unsigned kSse = 1u << 1, kAvx = 1u << 2;
  const Cpuid cpu;
  return all_of(cpu.saved, kSse | kAvx) && all_of(cpu.basic, bit_FMA | bit_F16C) &&
         all_of(cpu.wide, bit_AVX2);
}
#if defined(TENON_KERNELS_AVX2_VNNI)
bool has_avx2_vnni() {
  constexpr unsigned kAvxVnni = 1u << 4;
  return has_avx2() && all_of(Cpuid().further, kAvxVnni);
}
#endif
#if defined(TENON_KERNELS_AVX512)
bool has_avx512() {
  constexpr unsigned kAvx512 = 7u << 5;  // masks, upper halves, upper 16
  const Cpuid cpu;
  return has_avx2() && all_of(cpu.saved, kAvx512) &&
         all_of(cpu.wide, bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ) &&
         all_of(cpu.more, bit_AVX512VNNI);
}
#endif
#endif

#if defined(__aarch64__) && defined(__APPLE__)
/// Asks the kernel for a feature; systems that do not know its name lack it.
bool has_feature(const char* name) {
  int32_t value = 0;
  size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}
/// The second name is that of macOS 11.
[[maybe_unused]] bool has_dot_product() {
  return has_feature("hw.optional.arm.FEAT_DotProd") || has_feature("hw.optional.armv8_2_dotprod");
}
#if defined(TENON_KERNELS_NEON_I8MM)
bool has_i8mm() { return has_dot_product() && has_feature("hw.optional.arm.FEAT_I8MM"); }
#endif
#elif defined(__aarch64__)
/// Reads the hardware capabilities from Linux (HWCAP_ASIMDDP of <asm/hwcap.h>).
[[maybe_unused]] bool has_dot_product() {
  constexpr unsigned long kDotProduct = 1ul << 20;
  return (getauxval(AT_HWCAP) & kDotProduct) != 0;
}
#if defined(TENON_KERNELS_NEON_I8MM)
/// Reads HWCAP2_I8MM.
bool has_i8mm() {
  constexpr unsigned long kI8mm = 1ul << 13;
  return has_dot_product() && (getauxval(AT_HWCAP2) & kI8mm) != 0;
}
#endif
#endif

/// Ordered by preference, best first.
constexpr Variant kVariants[] = {
#if defined(TENON_KERNELS_AVX512)
    {"avx512", has_avx512, kernels_avx512},
#endif
#if defined(TENON_KERNELS_AVX2_VNNI)
    {"avx2_vnni", has_avx2_vnni, kernels_avx2_vnni},
#endif
#if defined(TENON_KERNELS_AVX2)
    {"avx2", has_avx2, kernels_avx2},
#endif
#if defined(TENON_KERNELS_NEON_I8MM)
    {"neon_i8mm", has_i8mm, kernels_neon_i8mm},
#endif
#if defined(TENON_KERNELS_NEON)
    {"neon", has_dot_product, kernels_neon},
#endif
    {"portable", [] { return true; }, kernels_portable},
};

}  // namespace

const Kernels* choose_kernels(const std::string& name) {
  for (const Variant& variant : kVariants) {
    if ((name.empty() || name == variant.name) && variant.runs_here()) return &variant.kernels();
  }
  return nullptr;
}

std::string available_kernels() {
  std::string names;
  for (const Variant& variant : kVariants) {
    if (!variant.runs_here()) continue;
    if (!names.empty()) names += ", ";
    names += variant.name;
  }
  return names;
}

std::string processor_name() {
#if defined(__x86_64__)
  std::array<uint32_t, 12> words{};
  uint32_t highest = __get_cpuid_max(0x80000000u, nullptr);
  if (highest < 0x80000004u) return "x86-64";
  for (uint32_t i = 0; i < 3; ++i) {
    __get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
                &words[4 * i + 3]);
  }
  std::array<char, sizeof(words) + 1> text{};
  std::memcpy(text.data(), words.data(), sizeof(words));
  std::string name(text.data());
  while (!name.empty() && name.back() == ' ') name.pop_back();
  return name;
#elif defined(__APPLE__)
  std::array<char, 128> text{};
  size_t size = text.size() - 1;
  if (sysctlbyname("machdep.cpu.brand_string", text.data(), &size, nullptr, 0) != 0) return "arm64";
  return text.data();
#else
  return "unknown processor";
#endif
}

bool matrices_supported(const OperationTable& operations, const tenon_program& program,
                        const tenon_op& op, uint32_t input) noexcept {
  const CpuOperation* own = operations.find(op.kind);
  for (uint32_t i = 0; i < program.num_ops; ++i) {
    const tenon_op& other = ops_of(program)[i];
    const CpuOperation* entry = operations.entry_of(program, other);
    if (entry == nullptr) continue;
    for (uint32_t j = 0; j < other.num_inputs; ++j) {
      if (other.inputs[j] != op.inputs[input]) continue;
      if (num_matrices(entry, other, j) != num_matrices(own, op, input)) return false;
    }
  }
  return true;
}

bool supports_op(const tenon_program& program, uint32_t index, const OperationTable& operations) {
  const tenon_op& op = ops_of(program)[index];
  const CpuOperation* entry = operations.entry_of(program, op);
  if (entry == nullptr) return fits_plain(program, index);
  for (uint32_t i = 0; i < op.num_inputs; ++i) {
    if (op.inputs[i] == TENON_NO_SLOT) continue;
    const tenon_slot& slot = slots_of(program)[op.inputs[i]];
    if (slot.kind == TENON_SLOT_CONSTANT && slot.type != entry->constants) return false;
    if (slot.kind != TENON_SLOT_WEIGHT) continue;
    const FormatInfo* format = find_format(slot.type);
    if (format == nullptr || !format->weight || slot.columns % format->block_values != 0)
      return false;
  }
  return entry->fits == nullptr || entry->fits(operations, program, op);
}

}  // namespace tenon::cpu
