// The scheduler between clients: seats and memory that move between them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/base/new_counters.h"
#include "tests/engine/scheduler_rig.h"

namespace tenon::scheduling {
namespace {

using testing::IsEmpty;

/// Number of a client's running requests.
uint64_t seats(const Rig& rig, const Job& of_client) {
  return static_cast<uint64_t>(std::ranges::count_if(rig.jobs, [&](const Job& job) {
    return job.client == of_client.client && job.place() == Work::Place::Running;
  }));
}

bool is_in(const Rig::Picks& picks, const Work& work) {
  return std::ranges::any_of(picks, [&](const auto& pick) { return pick.first == &work; });
}

TEST(Scheduler, GivesASeatToAClientThatHasNone) {
  Rig rig(with(100, 8));
  const Job& many = rig.add(1, 1000, "many");
  for (int i = 1; i < 50; ++i) rig.add(1, 1000, "many");
  rig.step();
  ASSERT_EQ(seats(rig, many), 8u);
  Job& one = rig.add(30, 4, "one");
  EXPECT_TRUE(is_in(rig.step(), one)) << "in the next step";
  EXPECT_EQ(seats(rig, many), 7u);
  EXPECT_TRUE(rig.jobs[7].has_begun());
  EXPECT_EQ(rig.jobs[7].place(), Work::Place::Waiting) << "the youngest gave way";
  EXPECT_THAT(rig.memory.dropped, IsEmpty()) << "there is memory for what it has computed";
  const uint64_t computed = rig.jobs[7].done;
  for (int i = 0; i < 4; ++i) rig.step();
  EXPECT_EQ(one.place(), Work::Place::Out);
  rig.step();
  EXPECT_EQ(rig.jobs[7].place(), Work::Place::Running);
  EXPECT_EQ(rig.jobs[7].done, computed + 1) << "it goes on where it was";
  EXPECT_EQ(rig.scheduler.num_preempted(), 1u);
}

TEST(Scheduler, SharesSeatsByWeightAndThenLeavesThem) {
  for (const double weight : {1.0, 3.0}) {
    Rig rig(with(100, 8));
    const Job& first = rig.add(1, 1000, "first");
    for (int i = 1; i < 20; ++i) rig.add(1, 1000, "first");
    rig.step();
    const Job& second = rig.add(1, 1000, "second", weight);
    for (int i = 1; i < 20; ++i) rig.add(1, 1000, "second", weight);
    rig.step();
    EXPECT_EQ(seats(rig, second), weight == 1 ? 4u : 6u);
    EXPECT_EQ(seats(rig, first), weight == 1 ? 4u : 2u);
    const uint64_t taken = rig.scheduler.num_preempted();
    for (int i = 0; i < 300; ++i) rig.step();
    EXPECT_EQ(rig.scheduler.num_preempted(), taken) << "no to and fro";
  }
}

TEST(Scheduler, TakesNoSeatThatIsTheOnlyOneOrOfAHigherPriority) {
  Rig only(with(100, 1));
  only.add(1, 1000, "a");
  only.step();
  Job& waits = only.add(1, 1000, "b", 100);
  only.step();
  EXPECT_EQ(waits.place(), Work::Place::Waiting);

  Rig high(with(100, 4));
  for (int i = 0; i < 8; ++i) high.add(1, 1000, "a", 1, 1);
  high.step();
  Job& low = high.add(1, 1000, "b");
  high.step();
  EXPECT_EQ(low.place(), Work::Place::Waiting);
}

TEST(Scheduler, SharesMemoryAsItSharesSeats) {
  Rig rig(with(1000), 20);
  const Job& many = rig.add(10, 80, "many");
  for (int i = 1; i < 30; ++i) rig.add(10, 80, "many");
  for (int i = 0; i < 5; ++i) rig.step();
  ASSERT_EQ(rig.memory.free(), 0u);
  Job& one = rig.add(25, 4, "one");
  EXPECT_TRUE(is_in(rig.step(), one));
  for (int i = 0; i < 4; ++i) rig.step();
  EXPECT_EQ(one.done, 29u) << "nobody takes it back before it has ended";
  EXPECT_FALSE(one.refused);
  EXPECT_GE(seats(rig, many), 1u);
  for (int i = 0; i < 20000 && !rig.scheduler.empty(); ++i) rig.step();
  for (const Job& job : rig.jobs) EXPECT_EQ(job.done, job.total);
}

TEST(Scheduler, TakesMemoryWithoutAllocating) {
  Rig rig(with(1000), 20);
  for (int i = 0; i < 30; ++i) rig.add(10, 80, "many");
  for (int i = 0; i < 5; ++i) rig.step();
  rig.add(25, 4, "one");
  rig.memory.dropped.reserve(64);
  const uint64_t before = counted_new::num_allocations;
  (void)rig.scheduler.pick(rig.now, 1000, 1000, rig.memory);
  EXPECT_EQ(counted_new::num_allocations - before, 0u);
  EXPECT_GT(rig.memory.dropped.size(), 0u) << "it takes some";
}

TEST(Scheduler, TakesNothingWhenThatIsNotEnough) {
  Rig rig(with(1000, 20), 20);
  for (int i = 0; i < 20; ++i) rig.add(1, 900, "many");
  rig.step();
  const uint64_t before = rig.scheduler.num_preempted();
  Job& large = rig.add(200, 4, "large");  // beside another request at most 19 blocks remain
  const uint64_t seats_before = seats(rig, rig.jobs.front());
  EXPECT_FALSE(is_in(rig.step(), large));
  EXPECT_EQ(rig.scheduler.num_preempted(), before);
  EXPECT_EQ(seats(rig, rig.jobs.front()), seats_before);
  EXPECT_THAT(rig.memory.dropped, IsEmpty());
  Job& small = rig.add(20, 4, "small");
  EXPECT_TRUE(is_in(rig.step(), small)) << "a smaller one takes at once";
}

/// A take that frees too little is repeated once the missing memory is free, and no sooner: neither
/// after a time nor when its victims run again.
TEST(Scheduler, RepeatsAVainTakeWhenWhatItLacksComesBack) {
  Rig rig(with(1000), 20);
  rig.memory.overrate = 100;
  Job& first = rig.add(10, 20, "many");
  for (int i = 0; i < 5; ++i) rig.add(10, 900, "many");
  for (int i = 0; i < 10; ++i) rig.step();
  Job& large = rig.add(190, 4, "large");
  rig.step();
  ASSERT_EQ(large.place(), Work::Place::Waiting);
  ASSERT_EQ(rig.memory.dropped.size(), 5u) << "all but the oldest";
  while (first.place() != Work::Place::Out) {
    ASSERT_EQ(rig.memory.dropped.size(), 5u);
    rig.now += 10 * kSecond;
    rig.step();
  }
  rig.step();
  EXPECT_GT(rig.memory.dropped.size(), 5u) << "in the step after the oldest has ended";
  for (int i = 0; i < 20000 && !rig.scheduler.empty(); ++i) rig.step();
  for (const Job& job : rig.jobs) EXPECT_TRUE(job.refused || job.done == job.total);
}

/// A small client's waiting time does not depend on failed takes of others.
TEST(Scheduler, SmallClientsTakeAtOnceBesideOnesThatExceedTheirShare) {
  Rig rig(with(1000, 8), 20);
  rig.memory.overrate = 100;
  for (int i = 0; i < 20; ++i) rig.add(10, 900, "many");
  for (int i = 0; i < 3; ++i) rig.add(195, 4, i % 2 == 0 ? "large" : "larger");
  for (int i = 0; i < 5; ++i) rig.step();
  for (int round = 0; round < 5; ++round) {
    Job& small = rig.add(15, 3, "small");
    // A step for its prompt, three for its tokens, and one if an unseated request held the free
    // seat.
    for (int i = 0; i < 5; ++i) rig.step();
    EXPECT_EQ(small.place(), Work::Place::Out) << round;
  }
}

}  // namespace
}  // namespace tenon::scheduling
