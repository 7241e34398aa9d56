// The small vocabulary in which kernels are written: threads, warps, shared memory, and memory by address.
// nvcc compiles it for a GPU; another compiler needs `emulated_device.h`, which runs the same kernels on the host
// (tests/backends/cuda/emulator). Nothing else here knows which of the two it is.
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
/// [count] values that the threads of a group share.
#define TENON_SHARED(type, name, count) __shared__ type name[count]
/// An entry that a driver finds by name.
///   waits  whether its threads wait for one another (here without meaning)
///   threads  of a group at most
///   groups   that a multiprocessor must have room for at once
#define TENON_BOUND_ENTRY(name, threads, groups, waits, ...)                            \
  extern "C" __global__ void __launch_bounds__(threads, groups)                         \
      tenon_##name(tenon::cuda::Address parameters, tenon::cuda::Constants constants) { \
    __VA_ARGS__ kernel{tenon::cuda::stage_at<decltype(__VA_ARGS__::stage)>(parameters), \
                       constants};                                                      \
    kernel.run();                                                                       \
  }

namespace tenon::cuda {

/// The parameters of a kernel, which keeps them in registers, or, where T is a reference, reads them when it needs them.
template <typename T>
TENON_DEVICE const std::remove_cvref_t<T>& stage_at(Address parameters) {
  return *reinterpret_cast<const std::remove_cvref_t<T>*>(parameters);
}

TENON_DEVICE uint thread_number() { return threadIdx.x; }
TENON_DEVICE uint num_threads() { return blockDim.x; }
TENON_DEVICE uint group_x() { return blockIdx.x; }
TENON_DEVICE uint group_y() { return blockIdx.y; }
TENON_DEVICE uint num_groups() { return gridDim.x; }
/// All threads of the group have come, and see what each has written.
TENON_DEVICE void barrier() { __syncthreads(); }
/// All lanes call these.
template <typename T>
TENON_DEVICE T shuffle_xor(T x, uint far) {
  return __shfl_xor_sync(0xFFFFFFFFu, x, static_cast<int>(far));
}
/// Over the lanes, by one tree: the same bits in all of them.
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
/// Shared memory whose size the launch says.
template <typename T>
TENON_DEVICE T* dynamic_shared() {
  extern __shared__ unsigned long long tenon_dynamic[];
  return reinterpret_cast<T*>(tenon_dynamic);
}
/// Adds to shared memory, whichever thread comes first.
TENON_DEVICE void add_shared(uint& to, uint value) { atomicAdd(&to, value); }
/// The same; returns what was there before.
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

/// The same of most kernels.
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
/// Bits [offset, offset + 8) as a number of two's complement.
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

// Memory of the device by its address.
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
