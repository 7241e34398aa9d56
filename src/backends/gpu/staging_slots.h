// Assigns a context's staging buffers to threads, in every driver. Drivers own the contents and
// wait for copies.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace tenon::gpu {

/// Any number of threads. Each slot is held by one thread at a time.
class StagingSlots {
 public:
  struct Slot {
    size_t index = 0;
    /// Latest copy from its buffer, to wait for before writing; 0 means none.
    uint64_t last_copy = 0;
  };

  /// Sets the number of slots; call before use.
  void resize(size_t count) { last_copies_.resize(count), held_.resize(count); }

  /// Waits for a free slot and takes the one whose copy was sent, and thus ends, first.
  [[nodiscard]] Slot take() {
    std::unique_lock lock(mutex_);
    size_t best = 0;
    const auto finds_one = [&] {
      best = held_.size();
      for (size_t i = 0; i < held_.size(); ++i) {
        if (held_[i]) continue;
        if (best == held_.size() || last_copies_[i] < last_copies_[best]) best = i;
      }
      return best < held_.size();
    };
    // Not wait(): its symbol in GCC 12 would exclude wheels from systems with glibc 2.34.
    while (!free_.wait_for(lock, std::chrono::hours(1), finds_one)) {
    }
    held_[best] = true;
    return {best, last_copies_[best]};
  }

  /// Starts a copy from the buffer of a held slot. `send` starts it and returns its number, greater
  /// than all before. One thread at a time runs `send`.
  template <class Send>
  void send(size_t index, const Send& send) {
    const std::lock_guard lock(mutex_);
    last_copies_[index] = send();
  }

  void give_back(size_t index) noexcept {
    const std::lock_guard lock(mutex_);
    held_[index] = false;
    free_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  std::vector<uint64_t> last_copies_;  ///< [slots]
  std::vector<bool> held_;             ///< [slots]
};

}  // namespace tenon::gpu
