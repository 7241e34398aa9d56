#include "backends/cuda/cuda_driver.h"

#include "abi/failure.h"
#include "backends/common/driver_library.h"

namespace tenon::cuda {
namespace {

/// Lowest compute capability that kernels are compiled for.
constexpr uint32_t kLeastMajor = 8;

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

Driver::Driver(const char* library) {
  library_ = backends::open_driver(library, false);
  if (library_ == nullptr) {
    backends::refuse(TENON_BACKEND_UNSUPPORTED, "{} not found: there is no NVIDIA driver", library);
  }
  try {
    const auto find =
        reinterpret_cast<GetProcAddress>(backends::driver_symbol(library_, kGetProcAddress));
    const char* missing = find == nullptr ? kGetProcAddress : nullptr;
#define TENON_FIND(name, version, parameters)                       \
  if (missing == nullptr) {                                         \
    void* found = nullptr;                                          \
    int status = 0;                                                 \
    const Result result = find(#name, &found, version, 0, &status); \
    if (result != kSuccess || found == nullptr) missing = #name;    \
    name = reinterpret_cast<decltype(name)>(found);                 \
  }
    TENON_CUDA_FUNCTIONS(TENON_FIND)
#undef TENON_FIND
    if (cuDriverGetVersion != nullptr) check(cuDriverGetVersion(&version_), "cuDriverGetVersion");
    if (version_ != 0 && version_ < kMinimumVersion) {
      backends::refuse(TENON_BACKEND_UNSUPPORTED, "the driver is one of CUDA {}, needs {}",
                       version_text(version_), version_text(kMinimumVersion));
    }
    if (missing != nullptr) {
      backends::refuse(TENON_BACKEND_UNSUPPORTED,
                       "the driver has no {}: it is older than one of CUDA {}", missing,
                       version_text(kMinimumVersion));
    }
    const Result started = cuInit(0);
    if (started != kNoDevice) check(started, "cuInit");
  } catch (...) {
    backends::close_driver(library_);
    throw;
  }
}

Driver::~Driver() { backends::close_driver(library_); }

std::string Driver::error_name(Result result) const {
  const char* name = nullptr;
  if (cuGetErrorName == nullptr || cuGetErrorName(result, &name) != kSuccess || name == nullptr) {
    return fmt::format("error {}", result);
  }
  return name;
}

void Driver::check(Result result, const char* function) const {
  if (result == kSuccess) return;
  backends::refuse(TENON_BACKEND_UNSUPPORTED, "{}: {}", function, error_name(result));
}

std::vector<DeviceFacts> Driver::devices() const {
  int count = 0;
  const Result result = cuDeviceGetCount(&count);
  if (result == kNoDevice || (result == kSuccess && count == 0)) {
    backends::refuse(TENON_BACKEND_UNSUPPORTED, "the driver has no device");
  }
  check(result, "cuDeviceGetCount");
  std::vector<DeviceFacts> all;
  for (int i = 0; i < count; ++i) all.push_back(facts_of(i));
  return all;
}

DeviceFacts Driver::facts_of(int index) const {
  DeviceFacts facts;
  check(cuDeviceGet(&facts.number, index), "cuDeviceGet");
  char name[256] = {};
  check(cuDeviceGetName(name, sizeof(name), facts.number), "cuDeviceGetName");
  facts.name = name;
  const auto attribute = [&](int number) {
    int value = 0;
    check(cuDeviceGetAttribute(&value, number, facts.number), "cuDeviceGetAttribute");
    return static_cast<uint32_t>(value);
  };
  facts.major = attribute(kComputeCapabilityMajor);
  facts.minor = attribute(kComputeCapabilityMinor);
  facts.most_threads = attribute(kMaxThreadsPerBlock);
  facts.shared_bytes = attribute(kMaxSharedMemoryPerBlock);
  facts.shared_on_request = attribute(kMaxSharedMemoryPerBlockOptin);
  facts.multiprocessors = attribute(kMultiprocessorCount);
  size_t bytes = 0;
  check(cuDeviceTotalMem(&bytes, facts.number), "cuDeviceTotalMem");
  facts.memory_total = bytes;
  if (facts.major < kLeastMajor) {
    facts.unavailable =
        fmt::format("compute capability {}.{}, needs {}.0", facts.major, facts.minor, kLeastMajor);
  } else if (attribute(kComputeMode) == kComputeModeProhibited) {
    facts.unavailable = "its compute mode is \"prohibited\"";
  } else if (attribute(kWarpSize) != 32) {
    facts.unavailable = "its warps are not of 32 threads";
  }
  return facts;
}

}  // namespace tenon::cuda
