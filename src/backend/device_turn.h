// Turns on a model's executables, which take one call at a time; engines and embedders share them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include "base/system.h"
#include "base/wake.h"

namespace tenon {

/// A fair (FIFO) lock: no caller with many steps starves another. A holder may release the turn
/// with steps under way; the next holder, if different, finishes them first, because tickets are
/// waited for in step order.
class DeviceTurn {
 private:
  /// A place in the queue. Without a thread that waits in it, it is passed over and stays.
  struct Place {
    Wake wake;
    bool is_queued = false;
    bool is_attended = false;  // a thread waits
    bool has_turn = false;
    Place* next = nullptr;
  };

 public:
  /// Proof that the thread has the turn: functions that need it take one.
  class Held {
   public:
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    friend class DeviceTurn;
    Held() = default;
  };

  /// A value that only the thread with the turn reaches.
  template <typename Value>
  class Owned {
   public:
    template <typename... Args>
    explicit Owned(Args&&... args) : value_{std::forward<Args>(args)...} {}
    [[nodiscard]] Value& of(const Held&) { return value_; }

   private:
    Value value_;
  };

  /// One thread at a time waits for a holder. If its patience ends, the holder keeps its place in
  /// the queue for its next wait, so that short waits in a row get the turn, too. The holder takes
  /// the turn once more before it is destroyed.
  class Holder {
   public:
    /// Waits for its steps and settles them.
    virtual void finish_steps(const Held& turn) noexcept = 0;

   protected:
    ~Holder() = default;

   private:
    friend class DeviceTurn;
    Place place_;
  };

  /// Limits of a caller's wait for the turn.
  struct Patience {
    System& system;
    uint64_t deadline_ns = UINT64_MAX;  ///< on the system's clock; UINT64_MAX means none
    const uint32_t* cancel = nullptr;  ///< flag that any thread may set, or null; polled every 5 ms
    /// Another reason to stop waiting, polled like the flag; null means none. May take locks.
    bool (*is_over)(void* arg) = nullptr;
    void* arg = nullptr;
  };

  /// Holds the turn for its own lifetime.
  class Use {
   public:
    Use(DeviceTurn& turn, Holder& holder) : Use(turn, &holder, nullptr) {}
    /// has_turn() is false if the patience ended first.
    Use(DeviceTurn& turn, Holder& holder, const Patience& patience)
        : Use(turn, &holder, &patience) {}
    /// For callers that leave no steps.
    Use(DeviceTurn& turn, const Patience& patience) : Use(turn, nullptr, &patience) {}
    ~Use() {
      if (has_turn_) turn_.unlock();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    [[nodiscard]] bool has_turn() const { return has_turn_; }
    /// Requires has_turn().
    [[nodiscard]] const Held& held() const { return turn_.held_; }
    /// Notes that `holder` has steps under way when it releases the turn.
    void leave_steps(Holder& holder) { turn_.with_steps_ = &holder; }

   private:
    Use(DeviceTurn& turn, Holder* holder, const Patience* patience)
        : turn_(turn),
          has_turn_(turn.wait(patience, holder != nullptr ? &holder->place_ : nullptr)) {
      if (!has_turn_) return;
      if (turn_.with_steps_ != nullptr && turn_.with_steps_ != holder) {
        turn_.with_steps_->finish_steps(held());
      }
      turn_.with_steps_ = nullptr;
    }

    DeviceTurn& turn_;
    bool has_turn_;
  };

  /// Holds the turn for its own lifetime, for callers that ignore steps under way: reads and writes
  /// of buffers, which take effect after them.
  class Access {
   public:
    explicit Access(DeviceTurn& turn) : turn_(turn) { turn_.lock(); }
    /// has_turn() is false if the turn is taken.
    Access(DeviceTurn& turn, std::try_to_lock_t) : turn_(turn), has_turn_(turn.try_lock()) {}
    /// has_turn() is false if the patience ended first.
    Access(DeviceTurn& turn, const Patience& patience)
        : turn_(turn), has_turn_(turn.lock(patience)) {}
    ~Access() {
      if (has_turn_) turn_.unlock();
    }
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;
    [[nodiscard]] bool has_turn() const { return has_turn_; }
    /// Requires has_turn().
    [[nodiscard]] const Held& held() const { return turn_.held_; }

   private:
    DeviceTurn& turn_;
    bool has_turn_ = true;
  };

  DeviceTurn() = default;
  DeviceTurn(const DeviceTurn&) = delete;
  DeviceTurn& operator=(const DeviceTurn&) = delete;

  // As Access.
  void lock() { (void)wait(nullptr, nullptr); }
  /// Returns false if the patience ended first.
  [[nodiscard]] bool lock(const Patience& patience) { return wait(&patience, nullptr); }
  /// Returns false if the turn is taken.
  [[nodiscard]] bool try_lock();
  void unlock();
  /// Number of threads that wait.
  [[nodiscard]] size_t num_waiting();

 private:
  [[nodiscard]] bool wait(const Patience* patience, Place* kept);
  void join_queue(Place& place);
  void leave_queue(Place& place);

  const Held held_{};
  std::mutex mutex_;
  bool is_taken_ = false;
  Place* first_ = nullptr;
  Place* last_ = nullptr;
  Holder* with_steps_ = nullptr;  // holder of steps under way
};

}  // namespace tenon
