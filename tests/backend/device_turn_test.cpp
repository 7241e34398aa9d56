// Turns on a device: their order, impatient callers, and steps to finish first.
#include "backend/device_turn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "abi/cancel_flag.h"
#include "tests/base/faulty_system.h"

namespace tenon {
namespace {

using testing::ElementsAre;

class WithSteps : public DeviceTurn::Holder {
 public:
  void finish_steps(const DeviceTurn::Held&) noexcept override { ++num_finished; }
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
  CancelFlag stop;
  std::vector<std::thread> threads;
  std::atomic<bool> last_had_it = false;
  turn.lock();
  threads.emplace_back([&] {
    const DeviceTurn::Use use(turn, {*System::real(), UINT64_MAX, stop.word()});
    EXPECT_FALSE(use.has_turn());
  });
  wait_for_waiting(turn, 1);
  threads.emplace_back([&] {
    const DeviceTurn::Use use(turn, {*System::real()});
    last_had_it = use.has_turn();
  });
  wait_for_waiting(turn, 2);
  stop.set();
  threads[0].join();
  turn.unlock();
  threads[1].join();
  EXPECT_TRUE(last_had_it);
  EXPECT_TRUE(turn.try_lock()) << "nobody has it";
  EXPECT_FALSE(turn.try_lock());
  turn.unlock();
}

TEST(DeviceTurn, IsGivenUpForAnotherReason) {
  DeviceTurn turn;
  std::atomic<bool> is_over = false;
  const auto ask = [](void* arg) { return static_cast<std::atomic<bool>*>(arg)->load(); };
  const std::scoped_lock lock(turn);
  std::thread other([&] {
    EXPECT_FALSE(turn.lock({*System::real(), UINT64_MAX, nullptr, ask, &is_over}));
  });
  wait_for_waiting(turn, 1);
  is_over = true;
  other.join();
}

/// Repeated short waits get the turn before callers that came later.
TEST(DeviceTurn, KeepsThePlaceOfAHolderWhosePatienceEnded) {
  DeviceTurn turn;
  WithSteps engine;
  const auto system = System::real();
  turn.lock();
  {
    const DeviceTurn::Use use(turn, engine, {*system, 0});
    EXPECT_FALSE(use.has_turn());
  }
  EXPECT_EQ(turn.num_waiting(), 0u);
  std::vector<int> order;
  std::thread late([&] {
    const std::scoped_lock lock(turn);
    order.push_back(2);
  });
  wait_for_waiting(turn, 1);
  std::thread again([&] {
    const DeviceTurn::Use use(turn, engine, {*system});
    EXPECT_TRUE(use.has_turn());
    order.push_back(1);
  });
  wait_for_waiting(turn, 2);
  turn.unlock();
  late.join();
  again.join();
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST(DeviceTurn, PassesOverAPlaceWhereNobodyWaits) {
  DeviceTurn turn;
  WithSteps engine;
  const auto system = System::real();
  turn.lock();
  { const DeviceTurn::Use use(turn, engine, {*system, 0}); }
  std::thread late([&] { const std::scoped_lock lock(turn); });
  wait_for_waiting(turn, 1);
  turn.unlock();
  late.join();
  EXPECT_TRUE(turn.try_lock()) << "nobody has it";
  turn.unlock();
  const DeviceTurn::Use use(turn, engine, {*system, 0});
  EXPECT_TRUE(use.has_turn());
}

/// A host's clock may call back.
TEST(DeviceTurn, ReadsTheClockWithoutItsLock) {
  class CallingClock : public FaultySystem {
   public:
    uint64_t now_ns() noexcept override {
      num_waiting = turn->num_waiting();
      return FaultySystem::now_ns();
    }
    DeviceTurn* turn = nullptr;
    size_t num_waiting = 0;
  };
  DeviceTurn turn;
  CallingClock clock;
  clock.turn = &turn;
  const std::scoped_lock lock(turn);
  EXPECT_FALSE(turn.lock({clock, 1}));
  EXPECT_EQ(clock.num_waiting, 1u);
}

TEST(DeviceTurn, AccessIsRefusedOrWaitsAndLeavesSteps) {
  static_assert(!std::is_default_constructible_v<DeviceTurn::Held>, "proof comes from the turn");
  DeviceTurn turn;
  WithSteps engine;
  {
    DeviceTurn::Use use(turn, engine);
    use.leave_steps(engine);
    const DeviceTurn::Access refused(turn, std::try_to_lock);
    EXPECT_FALSE(refused.has_turn());
    const DeviceTurn::Access impatient(turn, {*System::real(), 0});
    EXPECT_FALSE(impatient.has_turn());
  }
  {
    const DeviceTurn::Access access(turn, std::try_to_lock);
    EXPECT_TRUE(access.has_turn());
  }
  { const DeviceTurn::Access access(turn); }
  EXPECT_EQ(engine.num_finished, 0);
  EXPECT_TRUE(turn.try_lock()) << "nobody has it";
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
