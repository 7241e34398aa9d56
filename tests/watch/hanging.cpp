// Test that waits for ever; tests/watch/CMakeLists.txt checks that it is ended and named.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

TEST(Hanging, WaitsForWhatNeverComes) {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  never.wait(lock, [] { return false; });
}
