// A `libcuda.so.1` for tests: the functions of cuda_api.h on host memory. Kernels run in the
// emulator. Stream work runs as late as its waits allow, which exposes memory that is reused too
// early.
#include "fake_cuda.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/cuda_api.h"
#include "emulated_group.h"

namespace tenon::cuda::fake {
namespace {

constexpr Result kInvalidContext = 201;
constexpr Result kNotFound = 500;
constexpr Result kIllegalAddress = 700;
constexpr Result kUnknown = 999;

struct FakeContext {
  int device = 0;
  Result lost = kSuccess;
  std::deque<std::function<void()>> queue;  ///< pending work of its only stream
  uint64_t given = 0;                       ///< work added to the stream
  uint64_t done = 0;
};
struct FakeStream {
  FakeContext* context;
};
struct FakeEvent {
  FakeContext* context;
  uint64_t place = 0;
};

std::recursive_mutex mutex;
std::map<uint64_t, size_t> device_memory;  ///< live allocations
/// Shared memory per group, as with compute capability 8.6: for every kernel, and on request.
constexpr uint kSharedBytes = 48 << 10;
constexpr uint kSharedBytesOnRequest = 99 << 10;
std::map<KernelHandle, uint> shared_on_request;
thread_local std::vector<FakeContext*> current;

Control& control() {
  static Control one = [] {
    Control from_environment;
    const char* text = std::getenv("TENON_FAKE_CUDA");
    std::string_view rest = text == nullptr ? "" : text;
    const std::pair<std::string_view, int64_t*> keys[] = {
        {"devices", &from_environment.devices}, {"version", &from_environment.version},
        {"major", &from_environment.major},     {"memory_bytes", &from_environment.memory_bytes},
        {"threads", &from_environment.threads}, {"order", &from_environment.order},
        {"seed", &from_environment.seed}};
    while (!rest.empty()) {
      const std::string_view item = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), item.size() + 1));
      for (const auto& [key, value] : keys) {
        if (item.starts_with(key) && item.substr(key.size()).starts_with("=")) {
          *value = std::atoll(item.data() + key.size() + 1);
        }
      }
    }
    return from_environment;
  }();
  return one;
}

/// Counts down to the failing call.
bool comes_now(int64_t& countdown) { return countdown > 0 && --countdown == 0; }

FakeContext* context_now() { return current.empty() ? nullptr : current.back(); }

/// Common start of every function.
Result enter() {
  ++control().calls;
  return comes_now(control().fail_call) ? kUnknown : kSuccess;
}
Result enter_context() {
  const Result result = enter();
  if (result != kSuccess) return result;
  return context_now() == nullptr ? kInvalidContext : context_now()->lost;
}

Result do_until(FakeContext& context, uint64_t place) {
  while (context.done < place && context.lost == kSuccess) {
    const auto work = std::move(context.queue.front());
    context.queue.pop_front();
    ++context.done;
    work();
  }
  return context.lost;
}
void give(std::function<void()> work) {
  context_now()->queue.push_back(std::move(work));
  ++context_now()->given;
}

bool is_device_memory(uint64_t address, size_t bytes) {
  const auto after = device_memory.upper_bound(address);
  if (after == device_memory.begin()) return false;
  const auto& [first, size] = *std::prev(after);
  return address + bytes <= first + size;
}
void* host(uint64_t address) { return reinterpret_cast<void*>(address); }

#define TENON_ENTER(function)        \
  const std::lock_guard lock(mutex); \
  if (const Result r = function(); r != kSuccess) return r

Result cuInit(unsigned) {
  TENON_ENTER(enter);
  return control().devices == 0 ? kNoDevice : kSuccess;
}
Result cuDriverGetVersion(int* version) {
  TENON_ENTER(enter);
  *version = static_cast<int>(control().version);
  return kSuccess;
}
Result cuGetErrorName(Result error, const char** name) {
  switch (error) {
    case kInvalidValue:
      *name = "CUDA_ERROR_INVALID_VALUE";
      break;
    case kOutOfMemory:
      *name = "CUDA_ERROR_OUT_OF_MEMORY";
      break;
    case kNoDevice:
      *name = "CUDA_ERROR_NO_DEVICE";
      break;
    case kInvalidContext:
      *name = "CUDA_ERROR_INVALID_CONTEXT";
      break;
    case kLaunchOutOfResources:
      *name = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES";
      break;
    case kIllegalAddress:
      *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
      break;
    default:
      *name = "CUDA_ERROR_UNKNOWN";
      break;
  }
  return kSuccess;
}
Result cuDeviceGetCount(int* count) {
  TENON_ENTER(enter);
  *count = static_cast<int>(control().devices);
  return kSuccess;
}
Result cuDeviceGet(DeviceNumber* device, int index) {
  TENON_ENTER(enter);
  *device = index;
  return kSuccess;
}
Result cuDeviceGetName(char* name, int size, DeviceNumber) {
  TENON_ENTER(enter);
  std::strncpy(name, "Emulated device", static_cast<size_t>(size));
  return kSuccess;
}
Result cuDeviceGetAttribute(int* value, int attribute, DeviceNumber device) {
  TENON_ENTER(enter);
  switch (attribute) {
    case kMaxThreadsPerBlock:
      *value = static_cast<int>(control().threads);
      break;
    case kMaxSharedMemoryPerBlock:
      *value = static_cast<int>(kSharedBytes);
      break;
    case kMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(kSharedBytesOnRequest);
      break;
    case kMultiprocessorCount:
      *value = 4;
      break;
    case kWarpSize:
      *value = 32;
      break;
    case kComputeMode:
      *value = 0;
      break;
    case kComputeCapabilityMajor:
      *value = device + 1 == control().devices ? static_cast<int>(control().major) : 9;
      break;
    default:
      *value = 0;
      break;
  }
  return kSuccess;
}
Result cuDeviceTotalMem(size_t* bytes, DeviceNumber) {
  TENON_ENTER(enter);
  *bytes = static_cast<size_t>(control().memory_bytes);
  return kSuccess;
}

Result cuCtxCreate(ContextHandle* handle, unsigned, DeviceNumber device) {
  TENON_ENTER(enter);
  auto* context = new FakeContext;
  context->device = device;
  current.push_back(context);
  ++control().objects;
  *handle = reinterpret_cast<ContextHandle>(context);
  return kSuccess;
}
Result cuCtxDestroy(ContextHandle handle) {
  const std::lock_guard lock(mutex);
  ++control().calls;
  --control().objects;
  delete reinterpret_cast<FakeContext*>(handle);
  return kSuccess;
}
Result cuCtxPushCurrent(ContextHandle handle) {
  TENON_ENTER(enter);
  current.push_back(reinterpret_cast<FakeContext*>(handle));
  return kSuccess;
}
Result cuCtxPopCurrent(ContextHandle* handle) {
  const std::lock_guard lock(mutex);
  if (current.empty()) return kInvalidContext;
  *handle = reinterpret_cast<ContextHandle>(current.back());
  current.pop_back();
  return kSuccess;
}

Result cuMemGetInfo(size_t* available, size_t* total) {
  TENON_ENTER(enter_context);
  *total = static_cast<size_t>(control().memory_bytes);
  *available = static_cast<size_t>(control().memory_bytes - control().bytes_now);
  return kSuccess;
}
Result cuMemAlloc(DevicePointer* address, size_t bytes) {
  TENON_ENTER(enter_context);
  ++control().allocations;
  if (comes_now(control().fail_allocation)) return kOutOfMemory;
  if (static_cast<int64_t>(bytes) > control().memory_bytes - control().bytes_now)
    return kOutOfMemory;
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (memory == nullptr) return kOutOfMemory;
  std::memset(memory, 0xFF, bytes);
  *address = reinterpret_cast<uint64_t>(memory);
  device_memory.emplace(*address, bytes);
  control().bytes_now += static_cast<int64_t>(bytes);
  control().bytes_peak = std::max(control().bytes_peak, control().bytes_now);
  ++control().objects;
  return kSuccess;
}
Result cuMemFree(DevicePointer address) {
  const std::lock_guard lock(mutex);
  ++control().calls;
  if (context_now() != nullptr) do_until(*context_now(), context_now()->given);
  const auto found = device_memory.find(address);
  if (found == device_memory.end()) return kInvalidValue;
  control().bytes_now -= static_cast<int64_t>(found->second);
  --control().objects;
  device_memory.erase(found);
  std::free(host(address));
  return kSuccess;
}
Result cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  TENON_ENTER(enter_context);
  ++control().allocations;
  if (comes_now(control().fail_allocation)) return kOutOfMemory;
  *memory = std::malloc(bytes);
  ++control().objects;
  return kSuccess;
}
Result cuMemFreeHost(void* memory) {
  const std::lock_guard lock(mutex);
  ++control().calls;
  if (context_now() != nullptr) do_until(*context_now(), context_now()->given);
  --control().objects;
  std::free(memory);
  return kSuccess;
}

Result cuMemcpyHtoDAsync(DevicePointer to, const void* from, size_t bytes, StreamHandle) {
  TENON_ENTER(enter_context);
  if (!is_device_memory(to, bytes)) return kInvalidValue;
  give([=] { std::memcpy(host(to), from, bytes); });
  return kSuccess;
}
Result cuMemcpyDtoHAsync(void* to, DevicePointer from, size_t bytes, StreamHandle) {
  TENON_ENTER(enter_context);
  if (!is_device_memory(from, bytes)) return kInvalidValue;
  give([=] { std::memcpy(to, host(from), bytes); });
  return kSuccess;
}
Result cuMemcpyDtoDAsync(DevicePointer to, DevicePointer from, size_t bytes, StreamHandle) {
  TENON_ENTER(enter_context);
  if (!is_device_memory(to, bytes) || !is_device_memory(from, bytes)) return kInvalidValue;
  give([=] { std::memcpy(host(to), host(from), bytes); });
  return kSuccess;
}
Result cuMemsetD8Async(DevicePointer to, unsigned char value, size_t bytes, StreamHandle) {
  TENON_ENTER(enter_context);
  if (!is_device_memory(to, bytes)) return kInvalidValue;
  give([=] { std::memset(host(to), value, bytes); });
  return kSuccess;
}

Result cuStreamCreate(StreamHandle* stream, unsigned) {
  TENON_ENTER(enter_context);
  ++control().objects;
  *stream = reinterpret_cast<StreamHandle>(new FakeStream{context_now()});
  return kSuccess;
}
Result cuStreamDestroy(StreamHandle stream) {
  const std::lock_guard lock(mutex);
  ++control().calls;
  --control().objects;
  delete reinterpret_cast<FakeStream*>(stream);
  return kSuccess;
}
Result cuStreamSynchronize(StreamHandle stream) {
  TENON_ENTER(enter_context);
  FakeContext& context = *reinterpret_cast<FakeStream*>(stream)->context;
  return do_until(context, context.given);
}
Result cuEventCreate(EventHandle* event, unsigned) {
  TENON_ENTER(enter_context);
  ++control().objects;
  *event = reinterpret_cast<EventHandle>(new FakeEvent{context_now()});
  return kSuccess;
}
Result cuEventDestroy(EventHandle event) {
  const std::lock_guard lock(mutex);
  ++control().calls;
  --control().objects;
  delete reinterpret_cast<FakeEvent*>(event);
  return kSuccess;
}
Result cuEventRecord(EventHandle event, StreamHandle) {
  TENON_ENTER(enter_context);
  auto& recorded = *reinterpret_cast<FakeEvent*>(event);
  recorded.place = recorded.context->given;
  return kSuccess;
}
Result cuEventSynchronize(EventHandle event) {
  TENON_ENTER(enter_context);
  auto& recorded = *reinterpret_cast<FakeEvent*>(event);
  return do_until(*recorded.context, recorded.place);
}
/// Each query runs one more piece of work.
Result cuEventQuery(EventHandle event) {
  TENON_ENTER(enter_context);
  auto& recorded = *reinterpret_cast<FakeEvent*>(event);
  FakeContext& context = *recorded.context;
  if (context.done >= recorded.place) return kSuccess;
  const Result result = do_until(context, context.done + 1);
  return result == kSuccess ? kNotReady : result;
}

Result cuLibraryLoadData(LibraryHandle* library, const void* image, int*, void**, unsigned, int*,
                         void**, unsigned) {
  TENON_ENTER(enter_context);
  if (std::strcmp(static_cast<const char*>(image), "emulated") != 0) return kNoBinaryForDevice;
  ++control().objects;
  *library = reinterpret_cast<LibraryHandle>(new int);
  return kSuccess;
}
Result cuLibraryUnload(LibraryHandle library) {
  const std::lock_guard lock(mutex);
  ++control().calls;
  --control().objects;
  delete reinterpret_cast<int*>(library);
  return kSuccess;
}
Result cuLibraryGetKernel(KernelHandle* kernel, LibraryHandle, const char* name) {
  TENON_ENTER(enter_context);
  const emulator::Kernel* found = emulator::find_kernel(name);
  *kernel = reinterpret_cast<KernelHandle>(const_cast<emulator::Kernel*>(found));
  return found == nullptr ? kNotFound : kSuccess;
}
Result cuKernelSetAttribute(int attribute, int value, KernelHandle kernel, DeviceNumber) {
  TENON_ENTER(enter_context);
  const bool fits = attribute == kMaxDynamicSharedSizeBytes && value >= 0 &&
                    static_cast<uint>(value) <= kSharedBytesOnRequest;
  if (!fits) return kInvalidValue;
  shared_on_request[kernel] = static_cast<uint>(value);
  return kSuccess;
}
Result cuLaunchKernel(KernelHandle kernel, unsigned groups_x, unsigned groups_y, unsigned groups_z,
                      unsigned threads, unsigned threads_y, unsigned threads_z,
                      unsigned shared_bytes, StreamHandle, void** parameters, void**) {
  TENON_ENTER(enter_context);
  const auto* entry = reinterpret_cast<const emulator::Kernel*>(kernel);
  const auto requested = shared_on_request.find(kernel);
  const uint most_shared = requested == shared_on_request.end() ? kSharedBytes : requested->second;
  const bool fits = groups_x > 0 && groups_y > 0 && groups_y <= 65535 && groups_z == 1 &&
                    threads > 0 && threads <= entry->most_threads && threads_y == 1 &&
                    threads_z == 1 && shared_bytes <= most_shared;
  if (!fits) return kInvalidValue;
  const bool is_spoilt = control().spoilt_kernel[0] != 0 && groups_x >= control().spoilt_groups &&
                         std::string_view(entry->name).starts_with(control().spoilt_kernel.data());
  if (is_spoilt && control().refuses_spoilt) return kLaunchOutOfResources;
  emulator::Launch launch{groups_x, groups_y, threads, shared_bytes, 0, {}};
  std::memcpy(&launch.parameters, parameters[0], sizeof(launch.parameters));
  std::memcpy(&launch.constants, parameters[1], sizeof(launch.constants));
  give([launch, kernel, is_spoilt, context = context_now()] {
    ++control().launches;
    if (comes_now(control().fail_launch)) {
      context->lost = kIllegalAddress;
      return;
    }
    if (is_spoilt) return;
    static thread_local std::map<std::pair<int64_t, int64_t>, emulator::Machine> machines;
    const std::pair<int64_t, int64_t> key{control().order, control().seed};
    auto found = machines.find(key);
    if (found == machines.end()) {
      found = machines
                  .try_emplace(key, static_cast<emulator::Order>(key.first),
                               static_cast<uint64_t>(key.second))
                  .first;
    }
    found->second.run(*reinterpret_cast<const emulator::Kernel*>(kernel), launch);
  });
  return kSuccess;
}

}  // namespace
}  // namespace tenon::cuda::fake

extern "C" {

[[gnu::visibility("default")]] tenon::cuda::fake::Control* tenon_fake_cuda() {
  return &tenon::cuda::fake::control();
}

[[gnu::visibility("default")]] int cuGetProcAddress_v2(const char* name, void** function, int,
                                                       uint64_t, int*) {
  using namespace tenon::cuda::fake;
#define TENON_OFFER(offered, version, parameters)  \
  if (std::string_view(name) == #offered) {        \
    *function = reinterpret_cast<void*>(&offered); \
    return 0;                                      \
  }
  TENON_CUDA_FUNCTIONS(TENON_OFFER)
#undef TENON_OFFER
  *function = nullptr;
  return 500;
}

}  // extern "C"
