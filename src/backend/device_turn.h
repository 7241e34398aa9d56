// Turns on a model's executables, which take one call at a time; engines and embedders share them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/system.h"
#include "base/wake.h"

namespace tenon {

/// A fair (FIFO) lock: no caller with many steps starves another. A holder may release the turn
/// with steps under way; the next holder, if different, finishes them first, because tickets are
/// waited for in step order.
class DeviceTurn {
 public:
  class Holder {
   public:
    /// Waits for its steps and settles them. The caller holds the turn.
    virtual void finish_steps() noexcept = 0;

   protected:
    ~Holder() = default;
  };

  /// Limits of a caller's wait for the turn.
  struct Patience {
    System& system;
    uint64_t deadline_ns = UINT64_MAX;  ///< on the system's clock; UINT64_MAX means none
    const uint32_t* cancel = nullptr;  ///< flag that any thread may set, or null; polled every 5 ms
  };

  /// Holds the turn for its own lifetime.
  class Use {
   public:
    Use(DeviceTurn& turn, Holder& holder) : Use(turn, &holder, nullptr) {}
    /// For callers that leave no steps. has_turn() is false if the patience ended first.
    Use(DeviceTurn& turn, const Patience& patience) : Use(turn, nullptr, &patience) {}
    ~Use() {
      if (has_turn_) turn_.unlock();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    [[nodiscard]] bool has_turn() const { return has_turn_; }
    /// Notes that `holder` has steps under way when it releases the turn.
    void leave_steps(Holder& holder) { turn_.with_steps_ = &holder; }

   private:
    Use(DeviceTurn& turn, const Holder* holder, const Patience* patience)
        : turn_(turn), has_turn_(turn.wait(patience)) {
      if (!has_turn_) return;
      if (turn_.with_steps_ != nullptr && turn_.with_steps_ != holder) {
        turn_.with_steps_->finish_steps();
      }
      turn_.with_steps_ = nullptr;
    }

    DeviceTurn& turn_;
    bool has_turn_;
  };

  DeviceTurn() = default;
  DeviceTurn(const DeviceTurn&) = delete;
  DeviceTurn& operator=(const DeviceTurn&) = delete;

  // For callers that ignore steps under way: reads and writes of buffers, which take effect after
  // them.
  void lock() { (void)wait(nullptr); }
  /// Returns false if the turn is taken or waited for.
  [[nodiscard]] bool try_lock();
  void unlock();
  [[nodiscard]] size_t num_waiting();

 private:
  struct Waiter {
    Wake wake;
    bool has_turn = false;
    Waiter* next = nullptr;
  };
  [[nodiscard]] bool wait(const Patience* patience);
  void leave_queue(const Waiter& waiter);

  std::mutex mutex_;
  bool is_taken_ = false;
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
  Holder* with_steps_ = nullptr;  // holder of steps under way
};

}  // namespace tenon
