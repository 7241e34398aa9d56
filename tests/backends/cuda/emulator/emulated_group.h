// Runs a kernel on the host: groups one by one, the threads of a group as fibers that switch when
// they wait for one another. The order of groups and threads is selectable, so that a thread that
// fails to wait finds missing data.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/cuda/kernels/device.h"

namespace tenon::cuda::emulator {

enum class Order { Forward, Backward, Random };

/// Null if unknown.
const Kernel* find_kernel(const char* name);

struct Launch {
  uint groups_x, groups_y, threads;
  uint shared_bytes;
  Address parameters;
  Constants constants;
};

class Machine {
 public:
  /// Runs groups, and threads of each group, in this order; the seed is for the random order.
  explicit Machine(Order order, uint64_t seed = 1);
  ~Machine();
  /// Aborts the process with a sentence if threads wait at different places for ever.
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
