// What tests ask of the driver that is none (fake_cuda.cpp): how it behaves, and what has been done with it.
#pragma once

#include <array>
#include <cstdint>

namespace tenon::cuda::fake {

struct Control {
  // How it behaves. A test writes these; at first they come from the environment variable TENON_FAKE_CUDA,
  // "devices=2,order=1".
  int64_t devices = 1;
  int64_t version = 13000;
  int64_t major = 9;                        ///< compute capability of the last device
  int64_t threads = 1024;                   ///< of a group at most, by what it says of itself
  int64_t memory_bytes = int64_t{2} << 30;  ///< of each device
  int64_t fail_allocation = 0;              ///< the n-th from now, of either kind; 0: none
  int64_t fail_call = 0;                    ///< the n-th call of any function from now
  int64_t fail_launch = 0;                  ///< at the n-th kernel from now the device is lost
  std::array<char, 64> spoilt_kernel{};     ///< kernels whose names begin so compute nothing,
  int64_t spoilt_groups = 0;                ///< in launches of so many groups side by side or more
  bool refuses_spoilt = false;              ///< their launches fail
  int64_t order = 0;                        ///< of threads: forward, backward, random
  int64_t seed = 1;
  // What has been done.
  int64_t calls = 0;
  int64_t allocations = 0;
  int64_t launches = 0;
  int64_t bytes_now = 0;  ///< of the devices' memory
  int64_t bytes_peak = 0;
  int64_t objects = 0;  ///< contexts, streams, events, libraries and allocations that live
};

}  // namespace tenon::cuda::fake

extern "C" tenon::cuda::fake::Control* tenon_fake_cuda();
