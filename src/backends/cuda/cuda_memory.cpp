// Allocations of a Context, events, and copies between them.
#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/common/failure.h"
#include "backends/cuda/cuda_context.h"

namespace tenon::cuda {
namespace {

/// What an allocation takes.
uint64_t whole_words(uint64_t size_bytes) {
  return (std::max<uint64_t>(size_bytes, 1) + 15) / 16 * 16;
}

}  // namespace

Memory::Memory(Context& context, uint64_t size_bytes, Access access, const char* what)
    : size_bytes_(size_bytes) {
  if (context.plans_) return;
  const uint64_t bytes = whole_words(size_bytes);
  const uint64_t used = context.memory_used_;
  if (access == Access::Device &&
      bytes > context.memory_limit_ - std::min(context.memory_limit_, used)) {
    backends::refuse(TENON_BACKEND_NO_MEMORY,
                     "no memory for {} ({} bytes): {} of the limit of {} are taken", what, bytes,
                     used, context.memory_limit_);
  }
  const Context::Current current(context);
  const bool of_device = access == Access::Device;
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
  context.memory_used_ += bytes;
  const Result zeroed = context.driver_.cuMemsetD8Async(address_, 0, bytes, context.stream_);
  if (zeroed == kSuccess) return;
  context.driver_.cuMemFree(address_);
  context.memory_used_ -= bytes;
  context.check(zeroed, "cuMemsetD8Async", bytes);
}

Memory::~Memory() {
  if (context_ == nullptr) return;
  // Also of a lost device: the driver forgets what it holds for this process.
  context_->driver_.cuCtxPushCurrent(context_->handle_);
  if (bytes_ != nullptr) {
    context_->driver_.cuMemFreeHost(bytes_);
  } else {
    context_->driver_.cuMemFree(address_);
    context_->memory_used_ -= whole_words(size_bytes_);
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
  const auto* bytes = static_cast<const std::byte*>(from);
  for (uint64_t done = 0; done < size; done += kStagingBytes) {
    const uint64_t part = std::min(kStagingBytes, size - done);
    Upload upload(*this);
    std::memcpy(upload.bytes(), bytes + done, part);
    upload.send(to, offset + done, part);
  }
  finish();
}

void Context::read(const Memory& from, uint64_t offset, void* to, uint64_t size) {
  auto* bytes = static_cast<std::byte*>(to);
  for (uint64_t done = 0; done < size; done += kStagingBytes) {
    const uint64_t part = std::min(kStagingBytes, size - done);
    take(download_.bytes(), from.address() + offset + done, part);
    finish();
    std::memcpy(bytes + done, download_.bytes(), part);
  }
}

// ---- Uploads ------------------------------------------------------------------------------------

Context::Upload::Upload(Context& context) : context_(context) {
  const gpu::StagingSlots::Slot slot = context_.staging_slots_.take();
  slot_ = slot.index;
  try {
    if (slot.last_copy > 0) context_.staging_[slot_].sent.wait();
  } catch (...) {
    context_.staging_slots_.give_back(slot_);
    throw;
  }
}

Context::Upload::~Upload() { context_.staging_slots_.give_back(slot_); }

std::byte* Context::Upload::bytes() const { return context_.staging_[slot_].memory.bytes(); }

void Context::Upload::send(const Memory& to, uint64_t offset, uint64_t size) {
  Staging& slot = context_.staging_[slot_];
  context_.staging_slots_.send(slot_, [&] {
    context_.send(to.address() + offset, slot.memory.bytes(), size);
    slot.sent.record();
    return ++context_.uploads_;
  });
}

}  // namespace tenon::cuda
