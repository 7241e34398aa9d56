// Processor time of tests.
#pragma once

#include <algorithm>
#include <ctime>

namespace tenon {

// Sanitizers slow some code tenfold and other code not at all: tests then run without judging time.
#if !defined(__has_feature)
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    __has_feature(address_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Processor seconds of work(), the least of three runs, so that other processes and cold or shared
/// caches matter little. Runs once if that takes at most `enough`. Returns 0 with a sanitizer.
template <typename Work>
double processor_seconds(Work&& work, double enough = 0) {
  double least = 1e9;
  for (int i = 0; i < 3 && least > enough; ++i) {
    const std::clock_t begin = std::clock();
    work();
    if (kSanitized) return 0;
    least = std::min(least, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return least;
}

}  // namespace tenon
