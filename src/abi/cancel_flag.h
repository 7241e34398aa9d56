// The flag that ends a step, on both sides of the plugin border: a uint32_t that is touched by
// atomic operations only.
#pragma once

#include <atomic>
#include <cstdint>

namespace tenon {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) &&
              alignof(std::atomic<uint32_t>) == alignof(uint32_t) &&
              std::atomic<uint32_t>::is_always_lock_free);

/// True if a flag that another thread may set is set; false for null.
inline bool is_set(const uint32_t* flag) noexcept {
  return flag != nullptr && reinterpret_cast<const std::atomic<uint32_t>*>(flag)->load() != 0;
}

/// Any thread and signal handlers.
class CancelFlag {
 public:
  void set() noexcept { value_.store(1); }
  void clear() noexcept { value_.store(0); }
  /// Clears the flag; returns true if it was set.
  [[nodiscard]] bool take() noexcept { return value_.exchange(0) != 0; }
  [[nodiscard]] bool is_set() const noexcept { return value_.load() != 0; }
  /// The flag as readers have it: tenon_step.cancel, is_set().
  [[nodiscard]] const uint32_t* word() const noexcept {
    return reinterpret_cast<const uint32_t*>(&value_);
  }

 private:
  std::atomic<uint32_t> value_{0};
};

}  // namespace tenon
