// Limit on the work of understanding a request: processor time, and whether the answer is still
// wanted. Parsers, converters and compilers poll it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tenon_http {

/// Processor time for understanding a request, or for one step, in seconds.
inline constexpr double kWorkSeconds = 10;

/// Thrown when work is cut short. Not a std::exception, so that no handler blames the request.
enum class WorkEnd : uint8_t {
  Unwanted,  ///< the client has gone, or the server stops
  Late,      ///< out of processor time
};

/// Limit of one request. stop() is thread-safe; all else belongs to the working thread.
class WorkLimit {
 public:
  /// Applies the limit to the calling thread until destruction.
  class Use {
   public:
    /// seconds: processor time of the calling thread.
    Use(WorkLimit& limit, double seconds);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    WorkLimit* before_;
  };

  /// Weight after which look() reads the clock.
  static constexpr uint32_t kLongWork = 64;

  /// Ends the work, since the answer is no longer wanted.
  void stop() noexcept { is_stopped_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool is_stopped() const noexcept {
    return is_stopped_.load(std::memory_order_relaxed);
  }

  /// Throws WorkEnd if the calling thread's work must end; does nothing outside of Use. Cheap
  /// enough per item of a list.
  ///   weight  work since the last call, about one per microsecond
  static void look(uint32_t weight = 1);
  /// Call before long work that cannot poll. Throws Late if the thread's limit is less than
  /// `seconds`.
  static void need(double seconds);

 private:
  void look_at_clock();

  std::atomic<bool> is_stopped_{false};
  uint64_t until_ns_ = UINT64_MAX;
  double seconds_ = 0;   ///< limit given to Use
  uint32_t weight_ = 0;  ///< weight since the clock was read
};

}  // namespace tenon_http
