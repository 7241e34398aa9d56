// Turns on a device: their order, impatient callers, and steps to finish first.
#include "backend/device_turn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace tenon {
namespace {

using testing::ElementsAre;

class WithSteps : public DeviceTurn::Holder {
 public:
  void finish_steps() noexcept override { ++num_finished; }
  int num_finished = 0;
};

void wait_for_waiting(DeviceTurn& turn, size_t count) {
  while (turn.num_waiting() != count) std::this_thread::yield();
}

TEST(DeviceTurn, ComesInTheOrderOfAsking) {
  DeviceTurn turn;
  std::vector<int> order;
  std::vector<std::thread> threads;
  turn.lock();
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&turn, &order, i] {
      const std::scoped_lock lock(turn);
      order.push_back(i);
    });
    wait_for_waiting(turn, static_cast<size_t>(i) + 1);
  }
  turn.unlock();
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3));
}

/// A thread that asks again at once, like an engine per step, queues after the waiting threads.
TEST(DeviceTurn, DoesNotGoBackToWhoHasJustHadIt) {
  DeviceTurn turn;
  bool had_it = false;
  turn.lock();
  std::thread other([&] {
    const std::scoped_lock lock(turn);
    had_it = true;
  });
  wait_for_waiting(turn, 1);
  turn.unlock();
  turn.lock();
  EXPECT_TRUE(had_it);
  turn.unlock();
  other.join();
}

TEST(DeviceTurn, IsGivenUpAtADeadline) {
  DeviceTurn turn;
  const std::scoped_lock lock(turn);
  const auto system = System::real();
  const uint64_t deadline = system->now_ns() + 20'000'000;
  std::thread other([&] {
    const DeviceTurn::Use use(turn, {*system, deadline});
    EXPECT_FALSE(use.has_turn());
    EXPECT_GE(system->now_ns(), deadline);
  });
  other.join();
}

TEST(DeviceTurn, IsGivenUpWhereTheCallIsCancelled) {
  DeviceTurn turn;
  uint32_t stop = 0;
  std::vector<std::thread> threads;
  std::atomic<bool> last_had_it = false;
  turn.lock();
  threads.emplace_back([&] {
    const DeviceTurn::Use use(turn, {*System::real(), UINT64_MAX, &stop});
    EXPECT_FALSE(use.has_turn());
  });
  wait_for_waiting(turn, 1);
  threads.emplace_back([&] {
    const DeviceTurn::Use use(turn, {*System::real()});
    last_had_it = use.has_turn();
  });
  wait_for_waiting(turn, 2);
  __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
  threads[0].join();
  turn.unlock();
  threads[1].join();
  EXPECT_TRUE(last_had_it);
  EXPECT_TRUE(turn.try_lock()) << "nobody has it";
  EXPECT_FALSE(turn.try_lock());
  turn.unlock();
}

TEST(DeviceTurn, StepsOfAnotherAreFinishedFirst) {
  DeviceTurn turn;
  WithSteps engine;
  WithSteps other;
  {
    DeviceTurn::Use use(turn, engine);
    use.leave_steps(engine);
  }
  {
    DeviceTurn::Use use(turn, engine);  // its own steps
    use.leave_steps(engine);
  }
  EXPECT_EQ(engine.num_finished, 0);
  { const DeviceTurn::Use use(turn, {*System::real()}); }
  EXPECT_EQ(engine.num_finished, 1);
  { const DeviceTurn::Use use(turn, other); }
  EXPECT_EQ(engine.num_finished, 1);
  EXPECT_EQ(other.num_finished, 0);
}

}  // namespace
}  // namespace tenon
