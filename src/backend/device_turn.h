// Turns on an executable, which takes one call at a time: engines of one model share it.
#pragma once

#include <mutex>

namespace tenon {

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

  /// The turn, for as long as this lives.
  class Use {
   public:
    Use(DeviceTurn& turn, Holder& holder) : turn_(turn), lock_(turn.mutex_) {
      if (turn_.with_steps_ != nullptr && turn_.with_steps_ != &holder) {
        turn_.with_steps_->finish_steps();
      }
      turn_.with_steps_ = nullptr;
    }
    /// `holder` has steps under way when the turn is given back.
    void leave_steps(Holder& holder) { turn_.with_steps_ = &holder; }

   private:
    DeviceTurn& turn_;
    std::scoped_lock<std::mutex> lock_;
  };

  /// For what does not care about steps under way: reads and writes of buffers, which take effect
  /// after them.
  [[nodiscard]] std::mutex& mutex() { return mutex_; }

 private:
  std::mutex mutex_;
  Holder* with_steps_ = nullptr;
};

}  // namespace tenon
