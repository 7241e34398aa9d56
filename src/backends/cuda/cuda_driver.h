// NVIDIA's driver, opened when devices are first listed, and its devices.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/cuda_api.h"

namespace tenon::cuda {

#ifdef _WIN32
inline constexpr char kDriverLibrary[] = "nvcuda.dll";
#else
inline constexpr char kDriverLibrary[] = "libcuda.so.1";
#endif
/// CUDA version times 1000: the oldest driver with all functions that reads the kernel image.
inline constexpr int kMinimumVersion = 12000;

/// Properties of a device that this backend uses.
struct DeviceFacts {
  DeviceNumber number = 0;
  std::string name;
  uint32_t major = 0;  ///< compute capability
  uint32_t minor = 0;
  uint32_t most_threads = 0;       ///< per group
  uint32_t shared_bytes = 0;       ///< per group
  uint32_t shared_on_request = 0;  ///< per group whose kernel requests more
  uint32_t multiprocessors = 0;
  uint64_t memory_total = 0;
  std::string unavailable;  ///< why the device is unusable; empty if usable
};

class Driver {
 public:
  /// Throws UNSUPPORTED with a sentence if the driver is missing or too old.
  ///   library  another name, for tests
  explicit Driver(const char* library = kDriverLibrary);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// The functions of the driver, each under its own name.
#define TENON_DECLARE(name, version, parameters) Result(*name) parameters = nullptr;
  TENON_CUDA_FUNCTIONS(TENON_DECLARE)
#undef TENON_DECLARE

  /// Devices in the driver's order, including unusable ones.
  [[nodiscard]] std::vector<DeviceFacts> devices() const;
  /// CUDA version times 1000.
  [[nodiscard]] int version() const { return version_; }
  /// The driver's name of an error.
  [[nodiscard]] std::string error_name(Result result) const;

 private:
  [[nodiscard]] DeviceFacts facts_of(int index) const;
  void check(Result result, const char* function) const;

  void* library_ = nullptr;
  int version_ = 0;
};

}  // namespace tenon::cuda
