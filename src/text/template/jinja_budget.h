// What a template may spend: steps, time, memory, output. The caller that renders sets the numbers.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

namespace tenon::jinja {

/// A template failed: what Jinja2 raises as an exception. The line is added by the renderer.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <typename... Args>
[[noreturn]] void raise(fmt::format_string<Args...> text, Args&&... args) {
  throw Failure(fmt::format(text, std::forward<Args>(args)...));
}

struct Limits {
  size_t output_bytes = size_t{16} << 20;      ///< of the rendered text, and of any one string
  size_t memory_bytes = size_t{64} << 20;      ///< of the values that a template holds at a time
  uint64_t steps = 20'000'000;                 ///< operations; long texts and lists count as many
  uint64_t time_ns = 100'000'000;              ///< of processor time
  uint32_t depth = 400;                        ///< nested statements, expressions and calls
  std::function<uint64_t()> thread_time_ns{};  ///< see base/system.h; none: time is not limited
};

/// How deep lists and dicts may nest.
inline constexpr uint32_t kMaxValueDepth = 128;
/// How many values a list may hold, those of the lists in it included.
inline constexpr uint32_t kMaxValueWeight = 1u << 22;

/// Whatever reads or makes a text counts in proportion to it, in the loop that does so: values that
/// are made count themselves, and so do characters that are looked at (Characters).
class Budget {
 public:
  explicit Budget(const Limits& limits)
      : limits_(limits), start_ns_(limits.thread_time_ns ? limits.thread_time_ns() : 0) {}

  /// Counts work; looks at the clock now and then. Throws Failure when a limit is reached.
  void spend(uint64_t steps = 1) { count(steps * kBytesOfStep); }
  /// An operation on the bytes of a text as a whole: copied, compared, searched.
  void spend_bytes(size_t bytes) { count(kBytesOfStep + bytes); }
  /// One character that is decoded, classified, changed.
  void spend_character() { count(kBytesOfStep / 4); }

  /// Announces a string of a size before it is made.
  void check_size(size_t bytes) const {
    if (bytes > limits_.output_bytes) {
      raise("a text of {} bytes is larger than the limit of {}", bytes, limits_.output_bytes);
    }
  }
  void hold(size_t bytes) {
    held_ += bytes;
    if (held_ > limits_.memory_bytes) {
      raise("the template holds more than the limit of {} bytes", limits_.memory_bytes);
    }
  }
  void release(size_t bytes) noexcept { held_ -= bytes; }
  [[nodiscard]] const Limits& limits() const { return limits_; }

  uint32_t shown_namespaces = 0;  ///< that are being written out, one inside the other

 private:
  // Work is counted in bytes that a large copy moves in the same time.
  static constexpr uint64_t kBytesOfStep = 32;
  static constexpr uint64_t kBetweenChecks = 1024 * kBytesOfStep;

  void count(uint64_t bytes) {
    work_ += bytes;
    if (work_ >= next_check_) check();
  }
  void check() {
    next_check_ = work_ + kBetweenChecks;
    if (work_ / kBytesOfStep > limits_.steps) raise("more than {} steps", limits_.steps);
    if (limits_.thread_time_ns && limits_.thread_time_ns() - start_ns_ > limits_.time_ns) {
      raise("more than {} ms", limits_.time_ns / 1'000'000);
    }
  }

  const Limits& limits_;
  uint64_t start_ns_;
  uint64_t work_ = 0;
  uint64_t next_check_ = kBetweenChecks;
  size_t held_ = 0;
};

}  // namespace tenon::jinja
