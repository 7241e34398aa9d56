// The vocabulary of matrix instructions and asynchronous copies, beside device.h: each word is one instruction of the
// PTX ISA, under its name there. All lanes of a warp call what says so.
#pragma once

#include "backends/cuda/kernels/device.h"

namespace tenon::cuda {

/// Four words, which are loaded by one instruction.
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

/// Before a loop whose arrays stay in registers only where their indices are constants.
#define TENON_UNROLL _Pragma("unroll")
#define TENON_NO_UNROLL _Pragma("unroll 1")

namespace tenon::cuda {

/// sums += a b, of a warp: [16, 16] f16 by [16, 8] f16, sums f32 (mma.sync.m16n8k16). All lanes call it.
///   sums  rows lane / 4 and lane / 4 + 8, of each columns 2 (lane % 4) and the next one
///   a, b  pairs of f16, as gpu/packed_unit.h says of a; b: rows 2 (lane % 4), the next one, and both 8 further on, of
///         column lane / 4
TENON_DEVICE void multiply_add(float (&sums)[4], const uint (&a)[4], const uint (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// a - b of two pairs of f16 (sub.rn.f16x2).
TENON_DEVICE uint subtract_pairs(uint a, uint b) {
  uint difference;
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(difference) : "r"(a), "r"(b));
  return difference;
}

/// a b + c, rounded once.
TENON_DEVICE float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }

/// Begins to copy 16 bytes to shared memory, past the first level of caches (cp.async.cg). Both addresses are
/// multiples of 16.
TENON_DEVICE void copy_async(void* shared, Address from) {
  const auto to = static_cast<uint>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
/// The thread's copies since the last such call are a set; it may be empty (cp.async.commit_group).
TENON_DEVICE void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// All sets of the thread but the last `pending` have come; this thread sees them (cp.async.wait_group).
template <uint pending>
TENON_DEVICE void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/// All lanes have come, and see what each has written (bar.warp.sync).
TENON_DEVICE void warp_barrier() { __syncwarp(); }
/// What the thread has written comes before what it writes later, for all threads of the device (fence.acq_rel.gpu).
TENON_DEVICE void device_fence() { __threadfence(); }
/// Adds 1 to memory of the device; returns what was there before.
TENON_DEVICE uint fetch_increment(Address word) {
  return atomicAdd(reinterpret_cast<uint*>(word), 1u);
}

}  // namespace tenon::cuda

#else
#define TENON_UNROLL
#define TENON_NO_UNROLL
#endif
