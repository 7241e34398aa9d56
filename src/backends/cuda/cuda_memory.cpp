// Allocations of a Context, events, and copies between them.
#include <algorithm>
#include <cstring>
#include <utility>

#include "abi/failure.h"
#include "backends/cuda/cuda_context.h"

namespace tenon::cuda {

Memory::Memory(Context& context, uint64_t size_bytes, Access access, const char* what)
    : size_bytes_(size_bytes) {
  if (context.plans_) return;
  const uint64_t bytes = gpu::allocated_bytes(size_bytes);
  const bool of_device = access == Access::Device;
  if (of_device) context.memory_.require(bytes, what);
  const Context::Current current(context);
  void* host = nullptr;
  const Result result = of_device ? context.driver_.cuMemAlloc(&address_, bytes)
                                  : context.driver_.cuMemHostAlloc(&host, bytes, 0);
  const char* function = of_device ? "cuMemAlloc" : "cuMemHostAlloc";
  if (result == kOutOfMemory) {
    backends::refuse(TENON_BACKEND_NO_MEMORY, "no memory for {} ({} bytes): {}: {}", what, bytes,
                     function, context.driver_.error_name(result));
  }
  context.check(result, function, bytes);
  bytes_ = static_cast<std::byte*>(host);
  context_ = &context;
  if (!of_device) return;
  context.memory_.add(bytes);
  const Result zeroed = context.driver_.cuMemsetD8Async(address_, 0, bytes, context.stream_);
  if (zeroed == kSuccess) return;
  context.driver_.cuMemFree(address_);
  context.memory_.remove(bytes);
  context.check(zeroed, "cuMemsetD8Async", bytes);
}

Memory::~Memory() {
  if (context_ == nullptr) return;
  // Frees memory of a lost device, too: the driver releases the process's resources.
  context_->driver_.cuCtxPushCurrent(context_->handle_);
  if (bytes_ != nullptr) {
    context_->driver_.cuMemFreeHost(bytes_);
  } else {
    context_->driver_.cuMemFree(address_);
    context_->memory_.remove(gpu::allocated_bytes(size_bytes_));
  }
  ContextHandle before = nullptr;
  context_->driver_.cuCtxPopCurrent(&before);
}

void Memory::swap(Memory& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
}

Event::Event(Context& context) : context_(&context) {
  const Context::Current current(context);
  context.check(context.driver_.cuEventCreate(&handle_, kEventBlocking), "cuEventCreate");
}

Event::~Event() {
  if (handle_ == nullptr) return;
  context_->driver_.cuCtxPushCurrent(context_->handle_);
  context_->driver_.cuEventDestroy(handle_);
  ContextHandle before = nullptr;
  context_->driver_.cuCtxPopCurrent(&before);
}

void Event::record() {
  const Context::Current current(*context_);
  context_->check(context_->driver_.cuEventRecord(handle_, context_->stream_), "cuEventRecord");
}

void Event::wait() {
  const Context::Current current(*context_);
  context_->check(context_->driver_.cuEventSynchronize(handle_), "cuEventSynchronize");
}

bool Event::has_come() {
  const Context::Current current(*context_);
  const Result result = context_->driver_.cuEventQuery(handle_);
  if (result == kNotReady) return false;
  context_->check(result, "cuEventQuery");
  return true;
}

// ---- Copies -------------------------------------------------------------------------------------

void Context::send(gpu::Address to, const std::byte* from, uint64_t size) {
  if (size == 0) return;
  const Current current(*this);
  check(driver_.cuMemcpyHtoDAsync(to, from, size, stream_), "cuMemcpyHtoDAsync", size);
}

void Context::take(std::byte* to, gpu::Address from, uint64_t size) {
  if (size == 0) return;
  const Current current(*this);
  check(driver_.cuMemcpyDtoHAsync(to, from, size, stream_), "cuMemcpyDtoHAsync", size);
}

void Context::finish() {
  const Current current(*this);
  check(driver_.cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

void Context::finish_quietly() noexcept {
  if (stream_ == nullptr || driver_.cuCtxPushCurrent(handle_) != kSuccess) return;
  driver_.cuStreamSynchronize(stream_);
  ContextHandle before = nullptr;
  driver_.cuCtxPopCurrent(&before);
}

void Context::copy(const Memory& to, uint64_t to_offset, const Memory& from, uint64_t from_offset,
                   uint64_t size) {
  if (size == 0) return;
  const Current current(*this);
  check(driver_.cuMemcpyDtoDAsync(to.address() + to_offset, from.address() + from_offset, size,
                                  stream_),
        "cuMemcpyDtoDAsync", size);
  finish();
}

void Context::write(const Memory& to, uint64_t offset, const void* from, uint64_t size) {
  if (plans_) return;
  gpu::upload(*this, to, offset, from, size);
  finish();
}

void Context::read(const Memory& from, uint64_t offset, void* to, uint64_t size) {
  gpu::in_staging_parts(size, [&](uint64_t first, uint64_t count) {
    take(download_.bytes(), from.address() + offset + first, count);
    finish();
    std::memcpy(static_cast<std::byte*>(to) + first, download_.bytes(), count);
  });
}

// ---- Uploads ------------------------------------------------------------------------------------

void Context::wait_for_staging(const gpu::StagingSlots::Slot& slot) {
  if (slot.last_copy > 0) staging_[slot.index].sent.wait();
}

uint64_t Context::send_staging(size_t slot, const Memory& to, uint64_t offset, uint64_t size) {
  send(to.address() + offset, staging_[slot].memory.bytes(), size);
  staging_[slot].sent.record();
  return ++uploads_;
}

}  // namespace tenon::cuda
