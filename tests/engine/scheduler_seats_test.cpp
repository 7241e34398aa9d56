// The scheduler between clients: seats and memory that move between them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/base/new_counters.h"
#include "tests/engine/scheduler_simulation.h"

namespace tenon::scheduling {
namespace {

using testing::IsEmpty;

/// Number of a client's running requests.
uint64_t seats(const Simulation& simulation, const SimulatedRequest& of_client) {
  return static_cast<uint64_t>(
      std::ranges::count_if(simulation.requests, [&](const SimulatedRequest& request) {
        return request.client == of_client.client && request.place() == Work::Place::Running;
      }));
}

bool is_in(const Simulation::Picks& picks, const Work& work) {
  return std::ranges::any_of(picks, [&](const auto& pick) { return pick.first == &work; });
}

TEST(Scheduler, GivesASeatToAClientThatHasNone) {
  Simulation simulation(with(100, 8));
  const SimulatedRequest& many = simulation.add(1, 1000, "many");
  for (int i = 1; i < 50; ++i) simulation.add(1, 1000, "many");
  simulation.step();
  ASSERT_EQ(seats(simulation, many), 8u);
  SimulatedRequest& one = simulation.add(30, 4, "one");
  EXPECT_TRUE(is_in(simulation.step(), one)) << "in the next step";
  EXPECT_EQ(seats(simulation, many), 7u);
  EXPECT_TRUE(simulation.requests[7].has_begun());
  EXPECT_EQ(simulation.requests[7].place(), Work::Place::Waiting) << "the youngest gave way";
  EXPECT_THAT(simulation.memory.dropped, IsEmpty()) << "there is memory for what it has computed";
  const uint64_t computed = simulation.requests[7].done;
  for (int i = 0; i < 4; ++i) simulation.step();
  EXPECT_EQ(one.place(), Work::Place::Out);
  simulation.step();
  EXPECT_EQ(simulation.requests[7].place(), Work::Place::Running);
  EXPECT_EQ(simulation.requests[7].done, computed + 1) << "it goes on where it was";
  EXPECT_EQ(simulation.scheduler.num_preempted(), 1u);
}

TEST(Scheduler, SharesSeatsByWeightAndThenLeavesThem) {
  for (const double weight : {1.0, 3.0}) {
    Simulation simulation(with(100, 8));
    const SimulatedRequest& first = simulation.add(1, 1000, "first");
    for (int i = 1; i < 20; ++i) simulation.add(1, 1000, "first");
    simulation.step();
    const SimulatedRequest& second = simulation.add(1, 1000, "second", weight);
    for (int i = 1; i < 20; ++i) simulation.add(1, 1000, "second", weight);
    simulation.step();
    EXPECT_EQ(seats(simulation, second), weight == 1 ? 4u : 6u);
    EXPECT_EQ(seats(simulation, first), weight == 1 ? 4u : 2u);
    const uint64_t taken = simulation.scheduler.num_preempted();
    for (int i = 0; i < 300; ++i) simulation.step();
    EXPECT_EQ(simulation.scheduler.num_preempted(), taken) << "no to and fro";
  }
}

TEST(Scheduler, TakesNoSeatThatIsTheOnlyOneOrOfAHigherPriority) {
  Simulation only(with(100, 1));
  only.add(1, 1000, "a");
  only.step();
  SimulatedRequest& waits = only.add(1, 1000, "b", 100);
  only.step();
  EXPECT_EQ(waits.place(), Work::Place::Waiting);

  Simulation high(with(100, 4));
  for (int i = 0; i < 8; ++i) high.add(1, 1000, "a", 1, 1);
  high.step();
  SimulatedRequest& low = high.add(1, 1000, "b");
  high.step();
  EXPECT_EQ(low.place(), Work::Place::Waiting);
}

TEST(Scheduler, SharesMemoryAsItSharesSeats) {
  Simulation simulation(with(1000), 20);
  const SimulatedRequest& many = simulation.add(10, 80, "many");
  for (int i = 1; i < 30; ++i) simulation.add(10, 80, "many");
  for (int i = 0; i < 5; ++i) simulation.step();
  ASSERT_EQ(simulation.memory.free(), 0u);
  SimulatedRequest& one = simulation.add(25, 4, "one");
  EXPECT_TRUE(is_in(simulation.step(), one));
  for (int i = 0; i < 4; ++i) simulation.step();
  EXPECT_EQ(one.done, 29u) << "nobody takes it back before it has ended";
  EXPECT_FALSE(one.refused);
  EXPECT_GE(seats(simulation, many), 1u);
  for (int i = 0; i < 20000 && !simulation.scheduler.empty(); ++i) simulation.step();
  for (const SimulatedRequest& request : simulation.requests)
    EXPECT_EQ(request.done, request.total);
}

TEST(Scheduler, TakesMemoryWithoutAllocating) {
  Simulation simulation(with(1000), 20);
  for (int i = 0; i < 30; ++i) simulation.add(10, 80, "many");
  for (int i = 0; i < 5; ++i) simulation.step();
  simulation.add(25, 4, "one");
  simulation.memory.dropped.reserve(64);
  const uint64_t before = counted_new::num_allocations;
  (void)simulation.scheduler.pick(simulation.now, 1000, 1000, simulation.memory);
  EXPECT_EQ(counted_new::num_allocations - before, 0u);
  EXPECT_GT(simulation.memory.dropped.size(), 0u) << "it takes some";
}

TEST(Scheduler, TakesNothingWhenThatIsNotEnough) {
  Simulation simulation(with(1000, 20), 20);
  for (int i = 0; i < 20; ++i) simulation.add(1, 900, "many");
  simulation.step();
  const uint64_t before = simulation.scheduler.num_preempted();
  SimulatedRequest& large =
      simulation.add(200, 4, "large");  // beside another request at most 19 blocks remain
  const uint64_t seats_before = seats(simulation, simulation.requests.front());
  EXPECT_FALSE(is_in(simulation.step(), large));
  EXPECT_EQ(simulation.scheduler.num_preempted(), before);
  EXPECT_EQ(seats(simulation, simulation.requests.front()), seats_before);
  EXPECT_THAT(simulation.memory.dropped, IsEmpty());
  SimulatedRequest& small = simulation.add(20, 4, "small");
  EXPECT_TRUE(is_in(simulation.step(), small)) << "a smaller one takes at once";
}

/// A take that frees too little is repeated once the missing memory is free, and no sooner: neither
/// after a time nor when its victims run again.
TEST(Scheduler, RepeatsAVainTakeWhenWhatItLacksComesBack) {
  Simulation simulation(with(1000), 20);
  simulation.memory.overrate = 100;
  SimulatedRequest& first = simulation.add(10, 20, "many");
  for (int i = 0; i < 5; ++i) simulation.add(10, 900, "many");
  for (int i = 0; i < 10; ++i) simulation.step();
  SimulatedRequest& large = simulation.add(190, 4, "large");
  simulation.step();
  ASSERT_EQ(large.place(), Work::Place::Waiting);
  ASSERT_EQ(simulation.memory.dropped.size(), 5u) << "all but the oldest";
  while (first.place() != Work::Place::Out) {
    ASSERT_EQ(simulation.memory.dropped.size(), 5u);
    simulation.now += 10 * kSecond;
    simulation.step();
  }
  simulation.step();
  EXPECT_GT(simulation.memory.dropped.size(), 5u) << "in the step after the oldest has ended";
  for (int i = 0; i < 20000 && !simulation.scheduler.empty(); ++i) simulation.step();
  for (const SimulatedRequest& request : simulation.requests)
    EXPECT_TRUE(request.refused || request.done == request.total);
}

/// A small client's waiting time does not depend on failed takes of others.
TEST(Scheduler, SmallClientsTakeAtOnceBesideOnesThatExceedTheirShare) {
  Simulation simulation(with(1000, 8), 20);
  simulation.memory.overrate = 100;
  for (int i = 0; i < 20; ++i) simulation.add(10, 900, "many");
  for (int i = 0; i < 3; ++i) simulation.add(195, 4, i % 2 == 0 ? "large" : "larger");
  for (int i = 0; i < 5; ++i) simulation.step();
  for (int round = 0; round < 5; ++round) {
    SimulatedRequest& small = simulation.add(15, 3, "small");
    // A step for its prompt, three for its tokens, and one if an unseated request held the free
    // seat.
    for (int i = 0; i < 5; ++i) simulation.step();
    EXPECT_EQ(small.place(), Work::Place::Out) << round;
  }
}

}  // namespace
}  // namespace tenon::scheduling
