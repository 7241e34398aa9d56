// Controls the Vulkan loader between the backend and the real one (faulty_loader.cpp): failing
// calls, and counters of the driver's use.
#pragma once

#include <atomic>
#include <cstdint>

namespace tenon::vulkan::faulty {

/// The driver's apparent support of cooperative matrices (pretended_matrices.h).
enum class Matrices {
  None,           ///< the driver's own
  Emulated,       ///< modules with matrices run as those without
  Refused,        ///< modules with matrices cannot be made
  OfOtherShapes,  ///< unsupported shape only
};

struct Control {
  // Failing calls, set by tests while nothing runs.
  /// The n-th call from now fails, of `function` or of any that returns a result; 0 means none.
  std::atomic<int64_t> fail_call = 0;
  const char* function = nullptr;  ///< "AllocateMemory"; null: any
  /// Result of the failing call; after VK_ERROR_DEVICE_LOST the device stays lost.
  int32_t result = 0;
  const char* hidden = nullptr;  ///< a function that the device lacks
  Matrices matrices = Matrices::None;
  // Counters.
  std::atomic<int64_t> calls = 0;  ///< of `function`, or of any that returns a result
  std::atomic<int64_t> objects =
      0;  ///< live objects except command buffers, which end with their pool
  std::atomic<int64_t> initial_cache_bytes = 0;  ///< initial data of the latest pipeline cache
  std::atomic<int64_t> bytes_now = 0;            ///< device-local memory in use
  std::atomic<int64_t> bytes_peak = 0;
};

}  // namespace tenon::vulkan::faulty

extern "C" tenon::vulkan::faulty::Control* tenon_faulty_vulkan();
