// Controls the fake driver (fake_cuda.cpp): its behaviour, and counters of its use.
#pragma once

#include <array>
#include <cstdint>

namespace tenon::cuda::fake {

struct Control {
  // Behaviour, set by tests; initialised from the environment variable TENON_FAKE_CUDA,
  // "devices=2,order=1".
  int64_t devices = 1;
  int64_t version = 13000;
  int64_t major = 9;                        ///< compute capability of the last device
  int64_t threads = 1024;                   ///< most threads per group that it reports
  int64_t memory_bytes = int64_t{2} << 30;  ///< per device
  /// Fails the n-th allocation from now, of either kind; 0 means none.
  int64_t fail_allocation = 0;
  int64_t fail_call = 0;                 ///< fails the n-th call of any function from now
  int64_t fail_launch = 0;               ///< loses the device at the n-th kernel from now
  std::array<char, 64> spoilt_kernel{};  ///< kernels with this name prefix compute nothing
  int64_t spoilt_groups = 0;             ///< in launches of at least this many groups
  bool refuses_spoilt = false;           ///< fails their launches instead
  int64_t order = 0;                     ///< thread order: forward, backward, random
  int64_t seed = 1;
  // Counters.
  int64_t calls = 0;
  int64_t allocations = 0;
  int64_t launches = 0;
  int64_t bytes_now = 0;  ///< device memory in use
  int64_t bytes_peak = 0;
  int64_t objects = 0;  ///< live contexts, streams, events, libraries and allocations
};

}  // namespace tenon::cuda::fake

extern "C" tenon::cuda::fake::Control* tenon_fake_cuda();
