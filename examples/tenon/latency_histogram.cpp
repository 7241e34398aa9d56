#include "latency_histogram.h"

#include <algorithm>
#include <cmath>

namespace tenon_program {

void LatencyHistogram::add(double seconds) {
  const double place = std::ceil(std::log(seconds / kLeast) / std::log(kRatio));
  // Expression that puts times of 0 into the first class.
  const double last = static_cast<double>(kClasses - 1);
  const double index = place > 0 ? std::min(place, last) : 0;
  ++counts_[static_cast<size_t>(index)];
  ++count_;
  sum_ += seconds;
  most_ = std::max(most_, seconds);
}

double LatencyHistogram::mean() const {
  return count_ == 0 ? 0 : sum_ / static_cast<double>(count_);
}

double LatencyHistogram::percentile(double p) const {
  const auto rank = static_cast<uint64_t>(std::ceil(p * static_cast<double>(count_)));
  uint64_t seen = 0;
  for (size_t i = 0; i < kClasses; ++i) {
    seen += counts_[i];
    if (seen >= rank && seen > 0) {
      return std::min(most_, kLeast * std::pow(kRatio, static_cast<double>(i)));
    }
  }
  return 0;
}

}  // namespace tenon_program
