// The vocabulary of kernels: threads, warps, shared memory, and memory by address. nvcc compiles it
// for GPUs; other compilers need `emulated_device.h`, which runs the same kernels on the host
// (tests/backends/cuda/emulator). All other kernel code is independent of the choice.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backends/cuda/kernels/constants.h"
#include "backends/gpu/abi_numbers.h"
#include "backends/gpu/stage_parameters.h"

namespace tenon::cuda {

using gpu::Address;
using gpu::CacheLayer;
using gpu::SequenceSpan;
using gpu::StateLayer;
using gpu::StepHeader;
using gpu::TokenPlace;
using gpu::uint;

}  // namespace tenon::cuda

#ifdef __CUDACC__

#define TENON_DEVICE __device__ __forceinline__
/// [count] values shared by the threads of a group.
#define TENON_SHARED(type, name, count) __shared__ type name[count]
/// A kernel entry that the driver finds by name.
///   waits    true if its threads use barriers (ignored here)
///   threads  most threads per group
///   groups   that a multiprocessor must hold at once
#define TENON_BOUND_ENTRY(name, threads, groups, waits, ...)                            \
  extern "C" __global__ void __launch_bounds__(threads, groups)                         \
      tenon_##name(tenon::cuda::Address parameters, tenon::cuda::Constants constants) { \
    __VA_ARGS__ kernel{tenon::cuda::stage_at<decltype(__VA_ARGS__::stage)>(parameters), \
                       constants};                                                      \
    kernel.run();                                                                       \
  }

namespace tenon::cuda {

/// Parameters of a kernel, kept in registers or, if T is a reference, read on use.
template <typename T>
TENON_DEVICE const std::remove_cvref_t<T>& stage_at(Address parameters) {
  return *reinterpret_cast<const std::remove_cvref_t<T>*>(parameters);
}

TENON_DEVICE uint thread_number() { return threadIdx.x; }
TENON_DEVICE uint num_threads() { return blockDim.x; }
TENON_DEVICE uint group_x() { return blockIdx.x; }
TENON_DEVICE uint group_y() { return blockIdx.y; }
TENON_DEVICE uint num_groups() { return gridDim.x; }
/// Waits for all threads of the group and makes their writes visible.
TENON_DEVICE void barrier() { __syncthreads(); }
/// All lanes must call these functions.
template <typename T>
TENON_DEVICE T shuffle_xor(T x, uint far) {
  return __shfl_xor_sync(0xFFFFFFFFu, x, static_cast<int>(far));
}
/// Sum over the lanes by a fixed tree: all lanes get the same bits.
TENON_DEVICE float warp_sum(float x) {
  for (uint far = kWarp / 2; far > 0; far /= 2) x += shuffle_xor(x, far);
  return x;
}
template <typename T>
TENON_DEVICE T warp_max(T x) {
  for (uint far = kWarp / 2; far > 0; far /= 2) {
    const T other = shuffle_xor(x, far);
    if (x < other) x = other;
  }
  return x;
}
TENON_DEVICE uint ballot(bool yes) { return __ballot_sync(0xFFFFFFFFu, yes); }
/// Shared memory with the size given at launch.
template <typename T>
TENON_DEVICE T* dynamic_shared() {
  extern __shared__ unsigned long long tenon_dynamic[];
  return reinterpret_cast<T*>(tenon_dynamic);
}
/// Adds to shared memory atomically.
TENON_DEVICE void add_shared(uint& to, uint value) { atomicAdd(&to, value); }
/// Adds to shared memory atomically; returns the old value.
TENON_DEVICE uint fetch_add_shared(uint& to, uint value) { return atomicAdd(&to, value); }

TENON_DEVICE float bits_to_float(uint bits) { return __uint_as_float(bits); }
TENON_DEVICE uint float_to_bits(float x) { return __float_as_uint(x); }
TENON_DEVICE uint count_bits(uint x) { return static_cast<uint>(__popc(x)); }
TENON_DEVICE uint highest_bit(uint x) {
  return 31u - static_cast<uint>(__clz(static_cast<int>(x)));
}
TENON_DEVICE float round_even(float x) { return rintf(x); }
TENON_DEVICE float root(float x) { return __fsqrt_rn(x); }

}  // namespace tenon::cuda

#else
#include <emulated_device.h>
#endif

/// Entry with the bounds of most kernels.
#define TENON_ENTRY(name, waits, ...) \
  TENON_BOUND_ENTRY(name, tenon::cuda::kMostThreads, tenon::cuda::kLeastGroups, waits, __VA_ARGS__)

namespace tenon::cuda {

TENON_DEVICE uint lane() { return thread_number() % kWarp; }
TENON_DEVICE uint warp() { return thread_number() / kWarp; }
TENON_DEVICE uint num_warps() { return num_threads() / kWarp; }
TENON_DEVICE uint global_thread() { return group_x() * num_threads() + thread_number(); }

TENON_DEVICE float infinity() { return bits_to_float(0x7F800000u); }
TENON_DEVICE float absolute(float x) { return bits_to_float(float_to_bits(x) & 0x7FFFFFFFu); }
template <typename T>
TENON_DEVICE T larger(T a, T b) {
  return a < b ? b : a;
}
template <typename T>
TENON_DEVICE T smaller(T a, T b) {
  return b < a ? b : a;
}
TENON_DEVICE float limited(float x, float low, float high) { return smaller(larger(x, low), high); }
/// -1, 0 or 1.
TENON_DEVICE float sign_of(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : 0.0f; }
/// Bits [offset, offset + 8) as a two's complement number.
TENON_DEVICE float signed_byte_from(uint word, uint offset) {
  return static_cast<float>(static_cast<int>(word << (24 - offset)) >> 24);
}
TENON_DEVICE float signed_byte(uint value) { return signed_byte_from(value, 0); }

template <typename T>
struct PairOf {
  PairOf() = default;
  TENON_DEVICE PairOf(T first, T second) : x(first), y(second) {}
  T x, y;
};
using Pair = PairOf<uint>;
using FloatPair = PairOf<float>;

// Device memory at an address.
template <typename T>
struct Array {
  TENON_DEVICE explicit Array(Address address) : at(reinterpret_cast<T*>(address)) {}
  T* at;
};
using Floats = Array<float>;
using Ints = Array<int>;
using Words = Array<uint>;
using Addresses = Array<const Address>;
using Places = Array<const TokenPlace>;
using Spans = Array<const SequenceSpan>;
struct Step {
  TENON_DEVICE explicit Step(Address address)
      : header(*reinterpret_cast<const StepHeader*>(address)) {}
  const StepHeader& header;
};

}  // namespace tenon::cuda
