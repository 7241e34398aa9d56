// Sleeping on a word, and Wake over it: no wake-up is lost, and none is waited for in vain.
#include "base/futex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/wake.h"

namespace tenon {
namespace {

using Clock = std::chrono::steady_clock;

TEST(Futex, ReturnsAtOnceForAnotherValue) {
  const std::atomic<uint32_t> word{5};
  futex_wait(word, 4);  // would hang
}

TEST(Futex, EndsAtItsDeadline) {
  const std::atomic<uint32_t> word{5};
  const auto begin = Clock::now();
  constexpr auto kTimeout = std::chrono::milliseconds(20);
  // May return early: waits until the time has passed.
  while (Clock::now() - begin < kTimeout) futex_wait(word, 5, 20'000'000);
}

TEST(Futex, NoWakeUpIsLostBetweenTwoThreads) {
  constexpr uint32_t kTurns = 20'000;
  std::atomic<uint32_t> turn{0};
  const auto play = [&](uint32_t parity) {
    for (;;) {
      const uint32_t seen = turn.load();
      if (seen >= kTurns) return;
      if (seen % 2 != parity) {
        futex_wait(turn, seen);
      } else {
        turn.store(seen + 1);
        futex_wake_all(turn);
      }
    }
  };
  std::thread other(play, 1u);
  play(0);
  other.join();
  EXPECT_EQ(turn, kTurns);
}

TEST(Wake, APostBeforeTheWaitEndsIt) {
  Wake wake;
  wake.post();
  wake.post();
  wake.wait();           // would hang
  wake.wait(1'000'000);  // both posts are used up: ends at its deadline
}

TEST(Wake, WakesASleeperOften) {
  Wake there;
  Wake back;
  std::atomic<int> count{0};
  std::thread other([&] {
    for (int i = 0; i < 5000; ++i) {
      while (count.load() != 2 * i + 1) there.wait();
      ++count;
      back.post();
    }
  });
  for (int i = 0; i < 5000; ++i) {
    ++count;
    there.post();
    while (count.load() != 2 * i + 2) back.wait();
  }
  other.join();
  EXPECT_EQ(count, 10'000);
}

}  // namespace
}  // namespace tenon
