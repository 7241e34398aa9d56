#include "backends/cuda/cuda_context.h"

#include <algorithm>

#include "abi/failure.h"
#include "backends/cuda/cuda_image.h"
#include "backends/cuda/kernels/constants.h"
#include "backends/cuda/kernels/unit_rings.h"
#include "backends/gpu/codebook_points.h"

namespace tenon::cuda {
namespace {

constexpr const char* kKernelNames[] = {
#define TENON_KERNEL(name) "tenon_" #name,
#define TENON_MATRIX_KERNEL(name) TENON_MATRIX_VARIANTS(TENON_KERNEL, name)
#define TENON_UNIT_KERNEL(name) TENON_UNIT_VARIANTS(TENON_KERNEL, name)
#include "backends/gpu/kernel_list.h"
#include "backends/gpu/unit_kernel_list.h"
#undef TENON_UNIT_KERNEL
#undef TENON_KERNEL
#undef TENON_MATRIX_KERNEL
};

/// Formats with weights in units, in kernel order (unit_kernel_list.h).
constexpr Format kUnitFormats[] = {Format::F16, Format::Q8_0, Format::Q4_K, Format::Q6_K};

/// Shared memory for the rings of a product with weights in units, for this many warps; 0 for other
/// kernels.
uint32_t ring_bytes(gpu::Kernel kernel, uint32_t warps) {
  for (const Format format : kUnitFormats) {
    if (kernel == gpu::for_units(gpu::Kernel::linear_narrow_f16, format)) {
      return warps * narrow_ring(format).stages * narrow_ring(format).stage_bytes;
    }
    if (kernel == gpu::for_units(gpu::Kernel::linear_wide_f16, format) ||
        kernel == gpu::for_units(gpu::Kernel::linear_warpgroup_f16, format)) {
      return wide_ring(format).stages * wide_ring(format).stage_bytes;
    }
  }
  return 0;
}

/// Dynamic shared memory of a kernel's launch, in addition to its static memory.
uint32_t dynamic_shared_bytes(const gpu::KernelKey& key) {
  const uint32_t threads = key.constants[0];
  switch (key.kernel) {
    case gpu::Kernel::attention:
      return threads * (sizeof(gpu::Address) + sizeof(float)) +
             3 * key.constants[2] * sizeof(float);
    case gpu::Kernel::kv_write:
      return key.constants[2] * sizeof(float);
    case gpu::Kernel::compress:
      return 5 * key.constants[2] * sizeof(float);
    case gpu::Kernel::rotate:
      return key.constants[1] * sizeof(float);
    default:
      return ring_bytes(key.kernel, threads / kWarp);
  }
}

}  // namespace

Context::Current::Current(Context& context) : context_(context) {
  const Result lost = context_.lost_;
  if (lost != kSuccess) {
    backends::refuse(TENON_BACKEND_STATE, "the device was lost: {}",
                     context_.driver_.error_name(lost));
  }
  context_.check(context_.driver_.cuCtxPushCurrent(context_.handle_), "cuCtxPushCurrent");
}

Context::Current::~Current() {
  ContextHandle before = nullptr;
  context_.driver_.cuCtxPopCurrent(&before);
}

Context::Context(const tenon_host* host, uint32_t index, uint64_t memory_limit)
    : host_(host),
      facts_(gpu::usable_device(driver_.devices(), index)),
      group_threads_(std::min(kMostThreads, facts_.most_threads)) {
  try {
    create(memory_limit);
  } catch (...) {
    destroy();
    throw;
  }
}

Context::~Context() { destroy(); }

void Context::create(uint64_t memory_limit) {
  // A separate context: a fault here does not affect the process's other uses of the device.
  check(driver_.cuCtxCreate(&handle_, kScheduleBlocking, facts_.number), "cuCtxCreate");
  ContextHandle made = nullptr;
  check(driver_.cuCtxPopCurrent(&made), "cuCtxPopCurrent");
  {
    const Current current(*this);
    check(driver_.cuStreamCreate(&stream_, kStreamNonBlocking), "cuStreamCreate");
    if (memory_limit == 0) {
      size_t available = 0;
      size_t total = 0;
      check(driver_.cuMemGetInfo(&available, &total), "cuMemGetInfo");
      memory_limit = gpu::MemoryAccount::default_limit(available, total);
    }
    memory_.set_limit(memory_limit);
    load_kernels();
  }
  for (size_t i = 0; i < gpu::kStagingSlots; ++i) {
    staging_.push_back(
        {Memory(*this, kStagingBytes, Access::Host, "a staging buffer"), Event(*this)});
  }
  staging_slots_.resize(gpu::kStagingSlots);
  download_ = Memory(*this, kStagingBytes, Access::Host, "a staging buffer");
  const std::vector<uint16_t> points = gpu::codebook_points();
  grids_ = Memory(*this, points.size() * sizeof(uint16_t), Access::Device, "the codebooks");
  write(grids_, 0, points.data(), points.size() * sizeof(uint16_t));
}

void Context::load_kernels() {
  const Result loaded = driver_.cuLibraryLoadData(&library_, tenon_cuda_kernel_image, nullptr,
                                                  nullptr, 0, nullptr, nullptr, 0);
  if (loaded == kNoBinaryForDevice) {
    backends::refuse(TENON_BACKEND_UNSUPPORTED, "{}: no code for compute capability {}.{}",
                     facts_.name, facts_.major, facts_.minor);
  }
  check(loaded, "cuLibraryLoadData");
  for (const char* name : kKernelNames) {
    KernelHandle& kernel = kernels_.emplace_back();
    check(driver_.cuLibraryGetKernel(&kernel, library_, name), name);
  }
  if (multiprocessors() == 0) return;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const uint32_t bytes = ring_bytes(static_cast<gpu::Kernel>(i), gpu::kMostPartsOfGroup);
    if (bytes == 0) continue;
    check(driver_.cuKernelSetAttribute(kMaxDynamicSharedSizeBytes, static_cast<int>(bytes),
                                       kernels_[i], facts_.number),
          "cuKernelSetAttribute");
  }
}

void Context::destroy() noexcept {
  if (handle_ == nullptr) return;
  finish_quietly();
  grids_ = Memory();
  download_ = Memory();
  staging_.clear();
  // These calls need no current context, which a lost device may refuse.
  if (library_ != nullptr) driver_.cuLibraryUnload(library_);
  if (stream_ != nullptr) driver_.cuStreamDestroy(stream_);
  driver_.cuCtxDestroy(handle_);
}

uint64_t Context::memory_available() {
  const Current current(*this);
  size_t available = 0;
  size_t total = 0;
  check(driver_.cuMemGetInfo(&available, &total), "cuMemGetInfo");
  return std::min<uint64_t>(available, memory_.rest());
}

/// Handles a result. A failure in a working context is a fault of the device or a kernel, after
/// which the driver fails all calls; missing memory is not.
void Context::check(Result result, const char* function, uint64_t size_bytes) {
  if (result == kSuccess) return;
  const std::string of = size_bytes == 0 ? "" : fmt::format(" of {} bytes", size_bytes);
  if (result == kOutOfMemory) {
    backends::refuse(TENON_BACKEND_NO_MEMORY, "{}{}: {}", function, of, driver_.error_name(result));
  }
  if (handle_ == nullptr || library_ == nullptr) {  // during creation
    backends::refuse(TENON_BACKEND_UNSUPPORTED, "{}{}: {}", function, of,
                     driver_.error_name(result));
  }
  lost_ = result;
  backends::refuse(TENON_BACKEND_STATE, "{}{}: {}: the device was lost", function, of,
                   driver_.error_name(result));
}

void Context::launch(const gpu::KernelKey& key, gpu::Address parameters, uint32_t groups,
                     uint32_t rows) {
  if (groups == 0 || rows == 0) return;
  const Current current(*this);
  Constants constants{};
  std::copy(key.constants.begin() + 1, key.constants.end(), constants.values);
  void* arguments[] = {&parameters, &constants};
  const auto number = static_cast<uint32_t>(key.kernel);
  const Result result =
      driver_.cuLaunchKernel(kernels_[number], groups, rows, 1, key.constants[0], 1, 1,
                             dynamic_shared_bytes(key), stream_, arguments, nullptr);
  if (result == kInvalidValue ||
      result == kLaunchOutOfResources) {  // a fault of this kernel, not of the device
    backends::refuse(TENON_BACKEND_INTERNAL, "{}: {}", kKernelNames[number],
                     driver_.error_name(result));
  }
  check(result, kKernelNames[number]);
}

}  // namespace tenon::cuda
