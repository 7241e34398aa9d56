// NVIDIA's driver, opened when devices are listed and not before, and what its devices are. What is computed on
// them is not known here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/cuda_api.h"

namespace tenon::cuda {

inline constexpr char kDriverLibrary[] = "libcuda.so.1";
/// Of CUDA, times 1000: the oldest driver that has every function and reads the kernels' image.
inline constexpr int kMinimumVersion = 12000;

/// What a device says about itself, as far as this backend asks.
struct DeviceFacts {
  DeviceNumber number = 0;
  std::string name;
  uint32_t major = 0;  ///< compute capability
  uint32_t minor = 0;
  uint32_t most_threads = 0;       ///< of a group
  uint32_t shared_bytes = 0;       ///< of a group
  uint32_t shared_on_request = 0;  ///< of a group whose kernel asks for more
  uint32_t multiprocessors = 0;
  uint64_t memory_total = 0;
  std::string unavailable;  ///< why it cannot be used; empty: it can
};

class Driver {
 public:
  /// UNSUPPORTED with a sentence where there is none, or one too old.
  ///   library  for the tests, another name
  explicit Driver(const char* library = kDriverLibrary);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// The functions of the driver, each under its own name.
#define TENON_DECLARE(name, version, parameters) Result(*name) parameters = nullptr;
  TENON_CUDA_FUNCTIONS(TENON_DECLARE)
#undef TENON_DECLARE

  /// In the driver's order, with those that cannot be used.
  [[nodiscard]] std::vector<DeviceFacts> devices() const;
  /// Of CUDA, times 1000.
  [[nodiscard]] int version() const { return version_; }
  /// The driver's own name for an error.
  [[nodiscard]] std::string error_name(Result result) const;

 private:
  [[nodiscard]] DeviceFacts facts_of(int index) const;
  void check(Result result, const char* function) const;

  void* library_ = nullptr;
  int version_ = 0;
};

}  // namespace tenon::cuda
