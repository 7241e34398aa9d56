// Histogram of times in classes of equal ratio: percentiles within one percent, in constant memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tenon_program {

class LatencyHistogram {
 public:
  void add(double seconds);

  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] double mean() const;
  [[nodiscard]] double most() const { return most_; }
  /// Quantile p in 0..1, at most one percent too large; 0 without times.
  [[nodiscard]] double percentile(double p) const;

 private:
  // Range from a microsecond to more than an hour: 1e-6 * 1.01^2250 = 5300 s.
  static constexpr double kLeast = 1e-6;
  static constexpr double kRatio = 1.01;
  static constexpr size_t kClasses = 2250;

  std::array<uint64_t, kClasses> counts_{};
  uint64_t count_ = 0;
  double sum_ = 0;
  double most_ = 0;
};

}  // namespace tenon_program
