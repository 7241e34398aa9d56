// Turns on the executables of a model, which take one call at a time: engines and embedders share them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/system.h"
#include "base/wake.h"

namespace tenon {

/// A lock that is given in the order of asking, so that no caller with many steps starves another.
/// Who has the turn may give it back with steps under way. The next one, if it is another, has them
/// finished first: tickets are waited for in the order of their steps.
class DeviceTurn {
 public:
  class Holder {
   public:
    /// Waits for its steps and takes what comes of them. The caller has the turn.
    virtual void finish_steps() noexcept = 0;

   protected:
    ~Holder() = default;
  };

  /// How long a caller waits for the turn.
  struct Patience {
    System& system;
    uint64_t deadline_ns = UINT64_MAX;  ///< of the system; UINT64_MAX: none
    const uint32_t* cancel = nullptr;   ///< a flag of any thread's, or null; looked at every 5 ms
  };

  /// The turn, for as long as this lives.
  class Use {
   public:
    Use(DeviceTurn& turn, Holder& holder) : Use(turn, &holder, nullptr) {}
    /// For a caller that leaves no steps. has_turn() is false when its patience has ended first.
    Use(DeviceTurn& turn, const Patience& patience) : Use(turn, nullptr, &patience) {}
    ~Use() {
      if (has_turn_) turn_.unlock();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    [[nodiscard]] bool has_turn() const { return has_turn_; }
    /// `holder` has steps under way when the turn is given back.
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

  // For what does not care about steps under way: reads and writes of buffers, which take effect
  // after them.
  void lock() { (void)wait(nullptr); }
  /// False where another has the turn or waits for it.
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
  Holder* with_steps_ = nullptr;  // of who has the turn
};

}  // namespace tenon
