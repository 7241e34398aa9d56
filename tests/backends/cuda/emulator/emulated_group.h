// Runs a kernel on the host: groups one after another, the threads of a group as fibers that go on together where
// they wait for one another. In which order groups and threads run is chosen, so that one that does not wait where it
// should finds what others have not written yet.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/cuda/kernels/device.h"

namespace tenon::cuda::emulator {

enum class Order { Forward, Backward, Random };

/// nullptr when there is none.
const Kernel* find_kernel(const char* name);

struct Launch {
  uint groups_x, groups_y, threads;
  uint shared_bytes;
  Address parameters;
  Constants constants;
};

class Machine {
 public:
  /// Groups, and threads of each, run in this order, a random one by the seed.
  explicit Machine(Order order, uint64_t seed = 1);
  ~Machine();
  /// Ends the process, with a sentence, where threads wait at different places for ever.
  void run(const Kernel& kernel, const Launch& launch);

 private:
  class Group;
  friend void wait_for_group();
  friend uint together(uint value, Together operation);
  friend void multiply_together(const Fragments& own);
  friend void load_matrices_together(const MatrixRows& own);
  friend void multiply_async_together(const AsyncFragments& own);
  friend void commit_products();
  friend void wait_for_products(uint pending);
  friend void shared_fence();
  friend void begin_copy(void* to, const void* from);
  friend void commit_copies();
  friend void wait_for_copies(uint pending);
  static void wait_for_group();
  static uint together(uint value, Together operation);
  static void multiply_together(const Fragments& own);
  static void load_matrices_together(const MatrixRows& own);
  static void multiply_async_together(const AsyncFragments& own);
  static void commit_products();
  static void wait_for_products(uint pending);
  static void shared_fence();
  static void begin_copy(void* to, const void* from);
  static void commit_copies();
  static void wait_for_copies(uint pending);

  std::unique_ptr<Group> group_;
};

}  // namespace tenon::cuda::emulator
