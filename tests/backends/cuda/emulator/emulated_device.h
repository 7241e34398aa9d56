// The vocabulary of backends/cuda/kernels/device.h on the host. Operations between threads go to
// the emulator (emulated_group.h), which runs threads one by one.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#define TENON_DEVICE inline
#define TENON_SHARED(type, name, count) static thread_local type name[count]
#define TENON_BOUND_ENTRY(name, threads, groups, waits, ...)                            \
  extern "C" void tenon_##name(tenon::cuda::Address parameters,                         \
                               tenon::cuda::Constants constants) {                      \
    __VA_ARGS__ kernel{tenon::cuda::stage_at<decltype(__VA_ARGS__::stage)>(parameters), \
                       constants};                                                      \
    kernel.run();                                                                       \
  }                                                                                     \
  static const tenon::cuda::emulator::Registered registered_##name(                     \
      {"tenon_" #name, waits, threads, tenon_##name});

namespace tenon::cuda::emulator {

/// The running thread's view of itself.
struct Self {
  uint thread, threads, group_x, group_y, groups_x;
  void* dynamic_shared;
};
extern thread_local Self self;

struct Kernel {
  const char* name;
  bool waits;         ///< its threads wait for one another; else they run as a loop
  uint most_threads;  ///< most threads per group, limited by registers
  void (*run)(Address parameters, Constants constants);
};
/// A kernel that can be found by name.
struct Registered {
  explicit Registered(const Kernel& kernel);
};

/// Waits until all threads of the group have called it.
void wait_for_group();
/// Collective operations of a warp: a bit per nonzero value; a sum or maximum by the tree of
/// shuffles with lane ^ 16, 8, 4, 2 and 1; a matrix product of which each lane holds a part;
/// matrices from shared memory; nothing.
enum class Together : uint {
  Vote,
  Sum,
  MaxFloat,
  MaxWord,
  Multiply,
  LoadMatrices,
  MultiplyAsync,
  CommitProducts,
  WaitForProducts,
  Wait
};
/// Waits until all lanes of the warp have called it.
uint together(uint value, Together operation);

/// A lane's part of a matrix product (mma.sync.m16n8k16).
struct Fragments {
  float* sums;    ///< [4]
  const uint* a;  ///< [4] pairs of f16
  const uint* b;  ///< [2] pairs of f16
};
void multiply_together(const Fragments& own);
/// A lane's arguments of a matrix load (ldmatrix).
struct MatrixRows {
  uint* pairs;  ///< [count]
  uint count;
  const char* row;  ///< 16 bytes
};
void load_matrices_together(const MatrixRows& own);
/// A lane's part of a warpgroup product (wgmma.mma_async.m64n64k16). The emulator computes it per
/// warp, with the contents of shared memory when the warp waits for it; until then its sums are
/// poisoned.
struct AsyncFragments {
  float (*sums)[4];  ///< [8]
  const uint* a;     ///< [4] pairs of f16
  uint64_t b;        ///< a descriptor
  bool adds;
};
void multiply_async_together(const AsyncFragments& own);
/// Sets of a warp's products.
void commit_products();
void wait_for_products(uint pending);
/// Makes the thread's copied data readable by products after the next barrier.
void shared_fence();

/// Starts a copy of 16 bytes. Its destination is poisoned at the start and written only when the
/// thread waits; ending before that is an error.
void begin_copy(void* to, const void* from);
void commit_copies();
void wait_for_copies(uint pending);

/// a - b of f16, as bits.
uint subtract_halves(uint a, uint b);

}  // namespace tenon::cuda::emulator

namespace tenon::cuda {

inline uint thread_number() { return emulator::self.thread; }
inline uint num_threads() { return emulator::self.threads; }
inline uint group_x() { return emulator::self.group_x; }
inline uint group_y() { return emulator::self.group_y; }
inline uint num_groups() { return emulator::self.groups_x; }
inline void barrier() { emulator::wait_for_group(); }
inline float warp_sum(float x) {
  return std::bit_cast<float>(emulator::together(std::bit_cast<uint>(x), emulator::Together::Sum));
}
inline float warp_max(float x) {
  return std::bit_cast<float>(
      emulator::together(std::bit_cast<uint>(x), emulator::Together::MaxFloat));
}
inline uint warp_max(uint x) { return emulator::together(x, emulator::Together::MaxWord); }
inline uint ballot(bool yes) { return emulator::together(yes ? 1 : 0, emulator::Together::Vote); }
template <typename T>
T* dynamic_shared() {
  return static_cast<T*>(emulator::self.dynamic_shared);
}
inline void add_shared(uint& to, uint value) { to += value; }
inline uint fetch_add_shared(uint& to, uint value) {
  const uint before = to;
  to += value;
  return before;
}

template <typename T>
inline const std::remove_cvref_t<T>& stage_at(Address parameters) {
  return *reinterpret_cast<const std::remove_cvref_t<T>*>(parameters);
}

// The functions of device_mma.h.
inline void multiply_add(float (&sums)[4], const uint (&a)[4], const uint (&b)[2]) {
  emulator::multiply_together({sums, a, b});
}
template <uint kMatrices>
void load_matrices(uint (&pairs)[kMatrices], const char* row) {
  emulator::load_matrices_together({pairs, kMatrices, row});
}
#define TENON_WARPGROUPS
inline void multiply_async(float (&sums)[8][4], const uint (&a)[4], uint64_t b, bool adds) {
  emulator::multiply_async_together({sums, a, b, adds});
}
inline void products_fence() {}
inline void commit_products() { emulator::commit_products(); }
template <uint pending>
void wait_for_products() {
  emulator::wait_for_products(pending);
}
inline void shared_fence() { emulator::shared_fence(); }
inline uint64_t core_matrices(const char* first, uint across, uint along) {
  const auto at = static_cast<uint64_t>(first - static_cast<char*>(emulator::self.dynamic_shared));
  return (at & 0x3FFFFu) >> 4 | uint64_t{along >> 4} << 16 | uint64_t{across >> 4} << 32;
}
inline uint subtract_pairs(uint a, uint b) {
  return emulator::subtract_halves(a & 0xFFFFu, b & 0xFFFFu) |
         emulator::subtract_halves(a >> 16, b >> 16) << 16;
}
inline float fused(float a, float b, float c) { return std::fma(a, b, c); }
inline void copy_async(void* shared, Address from) {
  emulator::begin_copy(shared, reinterpret_cast<const void*>(from));
}
inline void commit_copies() { emulator::commit_copies(); }
template <uint pending>
void wait_for_copies() {
  emulator::wait_for_copies(pending);
}
inline void warp_barrier() { emulator::together(0, emulator::Together::Wait); }
inline void device_fence() {}
inline uint fetch_increment(Address word) { return (*reinterpret_cast<uint*>(word))++; }

inline float bits_to_float(uint bits) { return std::bit_cast<float>(bits); }
inline uint float_to_bits(float x) { return std::bit_cast<uint>(x); }
inline uint count_bits(uint x) { return static_cast<uint>(std::popcount(x)); }
inline uint highest_bit(uint x) { return static_cast<uint>(std::bit_width(x)) - 1; }
inline float round_even(float x) { return std::nearbyint(x); }
inline float root(float x) { return std::sqrt(x); }

}  // namespace tenon::cuda
