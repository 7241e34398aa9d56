// What tests ask of the Vulkan loader between the backend and the real one (faulty_loader.cpp): which calls
// fail, and what has been done with the driver.
#pragma once

#include <atomic>
#include <cstdint>

namespace tenon::vulkan::faulty {

/// What the driver seems to have of cooperative matrices (pretended_matrices.h).
enum class Matrices {
  None,           ///< what it has
  Emulated,       ///< modules of them run as those without
  Refused,        ///< no module of them can be made
  OfOtherShapes,  ///< not of the shape that shaders multiply with
};

struct Control {
  // Which calls fail. A test writes these while nothing runs.
  /// The n-th call from now fails, of `function` or of any that returns a result; 0: none.
  std::atomic<int64_t> fail_call = 0;
  const char* function = nullptr;  ///< "AllocateMemory"; nullptr: any
  int32_t result = 0;              ///< what it returns. VK_ERROR_DEVICE_LOST: the device stays lost
  const char* hidden = nullptr;    ///< a function that the device does not have
  Matrices matrices = Matrices::None;
  // What has been done.
  std::atomic<int64_t> calls = 0;  ///< of `function`, or of any that returns a result
  std::atomic<int64_t> objects =
      0;  ///< that live: all but command buffers, which go with their pool
  std::atomic<int64_t> initial_cache_bytes = 0;  ///< that the latest pipeline cache began with
  std::atomic<int64_t> bytes_now = 0;            ///< of memory of the device's own
  std::atomic<int64_t> bytes_peak = 0;
};

}  // namespace tenon::vulkan::faulty

extern "C" tenon::vulkan::faulty::Control* tenon_faulty_vulkan();
