// What the server's threads may spend on understanding a request: processor time, and whether anybody
// wants the answer. Whoever reads, converts or compiles looks at it again and again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tenon_http {

/// What a request may spend on being understood, or on one of its steps: seconds of processor time.
inline constexpr double kWorkSeconds = 10;

/// Work is at its end before it is done. Not of std::exception, so that nobody takes it for a fault of
/// the request.
enum class WorkEnd : uint8_t {
  Unwanted,  ///< the client has gone, or the server stops
  Late,      ///< the time is over
};

/// Of one request. stop() from any thread; the rest on the thread that works.
class WorkLimit {
 public:
  /// The work that the calling thread does from now on, until it is destroyed.
  class Use {
   public:
    /// seconds: of the thread's processor time.
    Use(WorkLimit& limit, double seconds);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    WorkLimit* before_;
  };

  /// Weight of work after which the clock is looked at in any case.
  static constexpr uint32_t kLongWork = 64;

  /// Nobody wants it any more.
  void stop() noexcept { is_stopped_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool is_stopped() const noexcept {
    return is_stopped_.load(std::memory_order_relaxed);
  }

  /// Throws WorkEnd if the work of the calling thread is to end; nothing outside of Use. Cheap enough
  /// for each item of a list. weight: of what is done between two looks, in microseconds or so.
  static void look(uint32_t weight = 1);
  /// The same before work that takes long and looks at nothing: throws Late where less time is given.
  static void need(double seconds);

 private:
  void look_at_clock();

  std::atomic<bool> is_stopped_{false};
  uint64_t until_ns_ = UINT64_MAX;
  double seconds_ = 0;   ///< given
  uint32_t weight_ = 0;  ///< since the last look at the clock
};

/// Bytes that a reader may make of its input in all. Spent before they are made.
class GrowthBudget {
 public:
  explicit GrowthBudget(size_t bytes) : left_(bytes) {}
  /// False where they are not there, and nothing is spent. Looks at the thread's WorkLimit.
  [[nodiscard]] bool spend(size_t bytes) {
    WorkLimit::look(static_cast<uint32_t>(1 + (bytes >> 10U)));
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

 private:
  size_t left_;
};

}  // namespace tenon_http
