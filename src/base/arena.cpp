#include "base/arena.h"

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"

namespace tenon {

Arena::Arena(std::shared_ptr<System> system, uint64_t size_bytes, std::string what)
    : system_(std::move(system)), what_(std::move(what)), size_bytes_(size_bytes) {
  if (size_bytes_ == 0) return;
  // The system grants address space beyond its memory; a later touch would kill the process.
  if (size_bytes_ > system_->available_memory()) fail_no_memory(*system_, what_, size_bytes_);
  // A tail shorter than a huge page would lie on small pages.
  mapped_bytes_ = size_bytes_ < kHugePageBytes
                      ? size_bytes_
                      : checked_align_up(size_bytes_, kHugePageBytes, what_, Code::NoMemory);
  memory_ = static_cast<std::byte*>(system_->map_pages(mapped_bytes_));
  if (memory_ == nullptr) fail_no_memory(*system_, what_, size_bytes_);
  // A refusal costs speed only; huge_page_bytes() reports the result.
  if (size_bytes_ >= kHugePageBytes) system_->advise_huge_pages(memory_, mapped_bytes_);
}

Arena::~Arena() {
  if (memory_ != nullptr) system_->unmap_pages(memory_, mapped_bytes_);
}

std::span<std::byte> Arena::allocate(uint64_t size_bytes, uint64_t alignment) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > kHugePageBytes) {
    fail(Code::Internal, "{}: alignment {} is no power of two up to {}", what_, alignment,
         kHugePageBytes);
  }
  uint64_t used = used_.load(std::memory_order_relaxed);
  for (;;) {
    const uint64_t begin = (used + alignment - 1) & ~(alignment - 1);
    if (begin > size_bytes_ || size_bytes > size_bytes_ - begin) {
      fail(Code::NoMemory, "{}: needs {} bytes, {} of {} are left", what_, size_bytes,
           size_bytes_ - used, size_bytes_);
    }
    if (used_.compare_exchange_weak(used, begin + size_bytes, std::memory_order_relaxed)) {
      return {memory_ + begin, size_bytes};
    }
  }
}

uint64_t Arena::huge_page_bytes() const {
  if (memory_ == nullptr) return 0;
  return static_cast<uint64_t>(
      std::max<int64_t>(0, system_->huge_page_bytes(memory_, mapped_bytes_)));
}

}  // namespace tenon
