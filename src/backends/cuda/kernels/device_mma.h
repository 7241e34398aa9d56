// Matrix instructions and asynchronous copies: each function is one PTX instruction, named in its
// comment. All lanes of a warp must call functions that say so.
#pragma once

#include "backends/cuda/kernels/device.h"

namespace tenon::cuda {

/// Four words loaded by one instruction.
struct alignas(16) Words4 {
  uint at[4];
};
struct alignas(8) Words2 {
  uint at[2];
};
struct alignas(8) Floats2 {
  float at[2];
};

}  // namespace tenon::cuda

#ifdef __CUDACC__

/// For loops whose arrays stay in registers only with constant indices.
#define TENON_UNROLL _Pragma("unroll")
#define TENON_NO_UNROLL _Pragma("unroll 1")

namespace tenon::cuda {

/// sums += a b per warp: [16, 16] f16 by [16, 8] f16, sums f32 (mma.sync.m16n8k16). All lanes call
/// it.
///   sums  rows lane / 4 and lane / 4 + 8, columns 2 (lane % 4) and the next
///   a, b  pairs of f16; a as in gpu/packed_unit.h; b: rows 2 (lane % 4), the next, and both 8
///         further on, of column lane / 4
TENON_DEVICE void multiply_add(float (&sums)[4], const uint (&a)[4], const uint (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// Loads two or four matrices of 8 rows of 16 bytes from shared memory (ldmatrix); per matrix a
/// lane gets the pair 2 (lane % 4) of row lane / 4. All lanes call it.
///   row  lane l passes row l % 8 of matrix l / 8, if that exists
TENON_DEVICE void load_matrices(uint (&pairs)[4], const char* row) {
  const auto from = static_cast<uint>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(pairs[0]), "=r"(pairs[1]), "=r"(pairs[2]), "=r"(pairs[3])
               : "r"(from));
}
TENON_DEVICE void load_matrices(uint (&pairs)[2], const char* row) {
  const auto from = static_cast<uint>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(pairs[0]), "=r"(pairs[1])
               : "r"(from));
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define TENON_WARPGROUPS

/// Starts an asynchronous product of a warpgroup (wgmma.mma_async.m64n64k16): sums [64, 64] (+)= a
/// b. Warp i of four holds rows 16 i to 16 i + 15 of a and of the sums, laid out as in
/// multiply_add(), with columns 8 j to 8 j + 7 in sums[j]. Until its end, sums and a must not be
/// touched and b must not be written.
///   adds  adds to the sums if true, else to zero
///   b     a descriptor (core_matrices)
TENON_DEVICE void multiply_async(float (&s)[8][4], const uint (&a)[4], uint64_t b, bool adds) {
#define TENON_SUMS(j) "+f"(s[j][0]), "+f"(s[j][1]), "+f"(s[j][2]), "+f"(s[j][3])
  asm volatile(
      "{ .reg .pred p; setp.ne.u32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "{%32, %33, %34, %35}, %36, p, 1, 1, 0; }"
      : TENON_SUMS(0), TENON_SUMS(1), TENON_SUMS(2), TENON_SUMS(3), TENON_SUMS(4), TENON_SUMS(5),
        TENON_SUMS(6), TENON_SUMS(7)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds ? 1u : 0u));
#undef TENON_SUMS
}
/// Orders earlier register writes before later products (wgmma.fence).
TENON_DEVICE void products_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// Commits the warp's products since the last commit as a set (wgmma.commit_group).
TENON_DEVICE void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits for all sets but the last `pending` (wgmma.wait_group).
template <uint pending>
TENON_DEVICE void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}
/// Makes the thread's writes to shared memory visible to products after the next barrier
/// (fence.proxy.async).
TENON_DEVICE void shared_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
/// Descriptor of operand b of multiply_async(): 8 by 2 core matrices of 8 columns (of the product)
/// by 8 values, 16 bytes per column, without swizzle (PTX ISA, "Matrix Descriptor").
///   across  bytes between groups of 8 columns
///   along   bytes between the two groups of 8 values
TENON_DEVICE uint64_t core_matrices(const char* first, uint across, uint along) {
  const auto at = static_cast<uint>(__cvta_generic_to_shared(first));
  return uint64_t{(at & 0x3FFFFu) >> 4} | uint64_t{along >> 4} << 16 | uint64_t{across >> 4} << 32;
}
#endif

/// a - b of two pairs of f16 (sub.rn.f16x2).
TENON_DEVICE uint subtract_pairs(uint a, uint b) {
  uint difference;
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(difference) : "r"(a), "r"(b));
  return difference;
}

/// a b + c, rounded once.
TENON_DEVICE float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }

/// Starts a copy of 16 bytes to shared memory that bypasses the first-level cache (cp.async.cg).
/// Both addresses are multiples of 16.
TENON_DEVICE void copy_async(void* shared, Address from) {
  const auto to = static_cast<uint>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
/// Commits the thread's copies since the last commit as a set, possibly empty
/// (cp.async.commit_group).
TENON_DEVICE void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits for all sets of the thread but the last `pending`, and makes them visible to the thread
/// (cp.async.wait_group).
template <uint pending>
TENON_DEVICE void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/// Waits for all lanes and makes their writes visible (bar.warp.sync).
TENON_DEVICE void warp_barrier() { __syncwarp(); }
/// Orders the thread's earlier writes before its later ones, for all threads of the device
/// (fence.acq_rel.gpu).
TENON_DEVICE void device_fence() { __threadfence(); }
/// Adds 1 to device memory atomically; returns the old value.
TENON_DEVICE uint fetch_increment(Address word) {
  return atomicAdd(reinterpret_cast<uint*>(word), 1u);
}

}  // namespace tenon::cuda

#else
#define TENON_UNROLL
#define TENON_NO_UNROLL
#endif
