// Measures elapsed time.
#pragma once

#include <chrono>
#include <functional>

namespace tenon_program {

using Clock = std::chrono::steady_clock;
/// Clock::now, or a test's clock.
using Now = std::function<Clock::time_point()>;

inline double seconds_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

inline double seconds_since(Clock::time_point start) {
  return seconds_between(start, Clock::now());
}

}  // namespace tenon_program
