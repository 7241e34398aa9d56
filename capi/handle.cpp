#include "handle.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <span>

namespace tenon::capi {
namespace {

/// Memory of the latest destroyed handles. Global, since handles of all objects share it; without a
/// lock, which another thread might hold for ever in the child of a fork.
class Graveyard {
 public:
  /// Takes memory, and frees the memory that was buried first.
  void bury(void* memory) noexcept {
    const size_t place = next_.fetch_add(1) % buried_.size();
    ::operator delete(buried_[place].exchange(memory));
  }

 private:
  std::array<std::atomic<void*>, 1024> buried_{};  // a handle takes some hundred bytes at most
  std::atomic<size_t> next_ = 0;
};

constinit Graveyard graveyard;
constinit thread_local HandlesInUse* innermost = nullptr;

}  // namespace

bool HandleBase::begin_use() const noexcept {
  if (whole_ != nullptr) return whole_->begin_use();
  uint32_t uses = uses_.load();
  while ((uses & kDoomed) == 0) {
    if (uses_.compare_exchange_weak(uses, uses + 1)) return true;
  }
  return false;
}

void HandleBase::end_use() const noexcept {
  if (whole_ != nullptr) return whole_->end_use();
  // The process differs in the child of a fork made by a callback.
  if (uses_.fetch_sub(1) == (kDoomed | 1u) && is_of_this_process()) delete_(this);
}

// Not inlined: g++ would see only half of the pair and warn of a mismatch.
[[gnu::noinline]] void* HandleBase::operator new(size_t size) { return ::operator new(size); }

void HandleBase::operator delete(void* memory) noexcept { graveyard.bury(memory); }

HandlesInUse::HandlesInUse() noexcept : outer_(innermost) { innermost = this; }

HandlesInUse::~HandlesInUse() {
  innermost = outer_;
  while (count_ > 0) handles_[--count_]->end_use();
}

bool HandlesInUse::add(const HandleBase& handle) noexcept {
  HandlesInUse& call = *innermost;
  const std::span<const HandleBase* const> held(call.handles_.data(), call.count_);
  if (std::ranges::find(held, &handle) != held.end()) return true;
  if (call.count_ == kMost || !handle.begin_use()) return false;
  call.handles_[call.count_++] = &handle;
  return true;
}

}  // namespace tenon::capi
