// The vocabulary of backends/cuda/kernels/device.h on the host: what a kernel asks of its threads goes to the
// emulator (emulated_group.h), which runs them one after another.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#define TENON_DEVICE inline
#define TENON_SHARED(type, name, count) static thread_local type name[count]
#define TENON_ENTRY(name, waits, ...)                                                      \
  extern "C" void tenon_##name(tenon::cuda::Address parameters,                            \
                               tenon::cuda::Constants constants) {                         \
    __VA_ARGS__ kernel{*reinterpret_cast<const decltype(__VA_ARGS__::stage)*>(parameters), \
                       constants};                                                         \
    kernel.run();                                                                          \
  }                                                                                        \
  static const tenon::cuda::emulator::Registered registered_##name(                        \
      {"tenon_" #name, waits, tenon_##name});

namespace tenon::cuda::emulator {

/// The thread that runs, as it sees itself.
struct Self {
  uint thread, threads, group_x, group_y, groups_x;
  void* dynamic_shared;
};
extern thread_local Self self;

struct Kernel {
  const char* name;
  bool waits;  ///< its threads wait for one another; else they are run as a loop
  void (*run)(Address parameters, Constants constants);
};
/// A kernel that can be found by its name.
struct Registered {
  explicit Registered(const Kernel& kernel);
};

/// Returns when all threads of the group have called it.
void wait_for_group();
/// What lanes of a warp do together: a bit for each value that is not 0, or a sum or maximum by the tree that
/// shuffles with lane ^ 16, 8, 4, 2 and 1 make.
enum class Together : uint { Vote, Sum, MaxFloat, MaxWord };
/// Returns when all lanes of the warp have called it.
uint together(uint value, Together operation);

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
inline void add_shared(uint* to, uint value) { *to += value; }
inline uint fetch_add_shared(uint* to, uint value) {
  const uint before = *to;
  *to += value;
  return before;
}

inline float bits_to_float(uint bits) { return std::bit_cast<float>(bits); }
inline uint float_to_bits(float x) { return std::bit_cast<uint>(x); }
inline uint count_bits(uint x) { return static_cast<uint>(std::popcount(x)); }
inline uint highest_bit(uint x) { return static_cast<uint>(std::bit_width(x)) - 1; }
inline float round_even(float x) { return std::nearbyint(x); }
inline float root(float x) { return std::sqrt(x); }

}  // namespace tenon::cuda
