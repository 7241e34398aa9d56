// Limits of a rendering: steps, time, memory, output. The caller sets the numbers.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

namespace tenon::jinja {

/// An exception that Jinja2 would raise. The renderer adds the line.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <typename... Args>
[[noreturn]] void raise(fmt::format_string<Args...> text, Args&&... args) {
  throw Failure(fmt::format(text, std::forward<Args>(args)...));
}

struct Limits {
  size_t output_bytes = size_t{16} << 20;  ///< size of the rendered text, and of each string
  size_t memory_bytes = size_t{64} << 20;  ///< size of the values that a template holds at a time
  uint64_t steps = 20'000'000;             ///< operations; long texts and lists count in proportion
  uint64_t time_ns = 100'000'000;          ///< processor time
  uint32_t depth = 400;                    ///< nested statements, expressions and calls
  std::function<uint64_t()> thread_time_ns{};  ///< see base/system.h; if empty, time is not limited
};

/// Deepest nesting of lists and dicts.
inline constexpr uint32_t kMaxValueDepth = 128;
/// Most values in a list, including those in nested lists.
inline constexpr uint32_t kMaxValueWeight = 1u << 22;

/// Counts work. Every loop that reads or makes text counts in proportion to the text. New values
/// count themselves, and so do visited characters (Characters).
class Budget {
 public:
  explicit Budget(const Limits& limits)
      : limits_(limits), start_ns_(limits.thread_time_ns ? limits.thread_time_ns() : 0) {}

  /// Counts steps; checks the clock now and then. Throws Failure at a limit.
  void spend(uint64_t steps = 1) { count(steps * kBytesOfStep); }
  /// Counts an operation on the bytes of a whole text: copy, comparison, search.
  void spend_bytes(size_t bytes) { count(kBytesOfStep + bytes); }
  /// Counts a character that is decoded, classified or changed.
  void spend_character() { count(kBytesOfStep / 4); }

  /// Checks the size of a string before it is made.
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

  uint32_t shown_namespaces = 0;  ///< nesting of namespaces being printed

 private:
  // Work is counted in bytes: a step takes about as long as copying this many.
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
