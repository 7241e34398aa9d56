// The scheduler with simulated memory and work: order, shares, bounds, preemption.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/expect_error.h"
#include "tests/engine/scheduler_simulation.h"

namespace tenon::scheduling {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Scheduler, HasNothingToDoWhenEmpty) {
  Simulation simulation(with(10));
  EXPECT_TRUE(simulation.step().empty());
}

TEST(Scheduler, PutsDecodesBeforePromptsAndCutsThose) {
  Simulation simulation(with(10));
  SimulatedRequest& prompt = simulation.add(100);
  SimulatedRequest& a = simulation.add(1, 5);
  SimulatedRequest& b = simulation.add(1, 5);
  EXPECT_EQ(simulation.step(), (Simulation::Picks{{&a, 1}, {&b, 1}, {&prompt, 8}}));
  EXPECT_EQ(simulation.step(3), (Simulation::Picks{{&a, 1}, {&b, 1}, {&prompt, 3}}));
  EXPECT_EQ(simulation.step(0), (Simulation::Picks{{&a, 1}, {&b, 1}, {&prompt, 1}}))
      << "never nothing at all";
}

TEST(Scheduler, PicksADecodeOfMoreTokensThanAStepInParts) {
  Simulation simulation(with(10));
  SimulatedRequest& prompt = simulation.add(100);
  SimulatedRequest& again = simulation.add(12);
  again.decode_tokens = 12;  // tokens of a step that come again
  EXPECT_EQ(simulation.step(), (Simulation::Picks{{&again, 10}}));
  EXPECT_EQ(simulation.step(), (Simulation::Picks{{&again, 2}, {&prompt, 8}}));
}

TEST(Scheduler, FillsTilesBesideDecodes) {
  SchedulerOptions options = with(40);
  options.tile_tokens = 8;
  Simulation simulation(options);
  SimulatedRequest& prompt = simulation.add(1000);
  std::vector<SimulatedRequest*> decodes;
  for (int i = 0; i < 5; ++i) decodes.push_back(&simulation.add(1, 100));
  simulation.step();
  const auto slice = [&](uint32_t beside) {
    for (const auto& [work, tokens] : simulation.step(beside)) {
      if (work == &prompt) return tokens;
    }
    return 0u;
  };
  EXPECT_EQ(slice(0), 11u) << "with 3 the tile of the decodes would be full: too few for a prompt";
  EXPECT_EQ(slice(6), 11u) << "11 tokens are less than half a tile from 16";
  EXPECT_EQ(slice(14), 11u);
  EXPECT_EQ(slice(15), 19u);
  EXPECT_EQ(slice(1000), 35u) << "no more than a step";
}

TEST(Scheduler, FillsAStepWithSeveralPromptsOldestFirst) {
  Simulation simulation(with(10));
  SimulatedRequest& a = simulation.add(4);
  SimulatedRequest& b = simulation.add(4);
  SimulatedRequest& c = simulation.add(4);
  EXPECT_EQ(simulation.step(), (Simulation::Picks{{&a, 4}, {&b, 4}, {&c, 2}}));
}

TEST(Scheduler, RunsHigherPrioritiesFirst) {
  Simulation simulation(with(10));
  SimulatedRequest& low = simulation.add(20, 0, "", 1, -1);
  SimulatedRequest& high = simulation.add(20, 0, "", 1, 3);
  EXPECT_EQ(simulation.step(), (Simulation::Picks{{&high, 10}}));
  EXPECT_EQ(simulation.step(), (Simulation::Picks{{&high, 10}}));
  EXPECT_EQ(simulation.step(), (Simulation::Picks{{&low, 10}}));
}

TEST(Scheduler, AgesWhatIsNeverServed) {
  SchedulerOptions options = with(10, 1);
  options.ageing_ns = kSecond;
  Simulation simulation(options);
  SimulatedRequest& low = simulation.add(10, 0, "", 1, 0);
  for (int i = 0; i < 100; ++i) simulation.add(10, 0, "", 1, 2);
  uint64_t steps = 0;
  while (low.done == 0 && steps < 1000) {
    simulation.step();
    simulation.add(10, 0, "", 1, 2);
    ++steps;
  }
  EXPECT_NEAR(static_cast<double>(steps), 200, 5)
      << "two priorities, a second each, 100 steps a second";
}

TEST(Scheduler, AgeingLetsOneOfAPriorityThroughAtATime) {
  SchedulerOptions options = with(20);
  options.ageing_ns = kSecond;
  Simulation simulation(options);
  const SimulatedRequest& low = simulation.add(10);
  simulation.add(10);
  simulation.now += 3 * kSecond;
  const SimulatedRequest& high = simulation.add(30, 0, "", 1, 1);
  EXPECT_EQ(simulation.step(), (Simulation::Picks{{&low, 10}, {&high, 10}}));
}

TEST(Scheduler, WithoutAgeingLowPrioritiesWait) {
  SchedulerOptions options = with(10, 1);
  options.ageing_ns = 0;
  Simulation simulation(options);
  SimulatedRequest& low = simulation.add(10, 0, "", 1, 0);
  for (int i = 0; i < 500; ++i) {
    simulation.add(10, 0, "", 1, 1);
    simulation.step();
  }
  EXPECT_EQ(low.done, 0u);
}

/// Share of client a's tokens, with clients weighted 3:1 that always have waiting requests.
double share(const SchedulerOptions& options, uint64_t prompt, uint64_t decodes) {
  Simulation simulation(options);
  const Client* a = &simulation.scheduler.client("a", 3);
  const Client* b = &simulation.scheduler.client("b", 1);
  for (int step = 0; step < 4000; ++step) {
    while (a->num_works < 40) simulation.add(prompt, decodes, "a", 3);
    while (b->num_works < 40) simulation.add(prompt, decodes, "b", 1);
    simulation.step(20);
    while (!simulation.requests.empty() && simulation.requests.front().place() == Work::Place::Out)
      simulation.requests.pop_front();
  }
  return static_cast<double>(simulation.tokens[a]) / static_cast<double>(simulation.tokens[b]);
}

TEST(Scheduler, SharesByWeight) {
  EXPECT_NEAR(share(with(64), 100, 0), 3, 0.15) << "prompts";
  EXPECT_NEAR(share(with(64, 16), 1, 50), 3, 0.15) << "answers";
  EXPECT_NEAR(share(with(64, 16), 80, 20), 3, 0.15) << "both";
  EXPECT_NEAR(share(with(16, 64), 1, 50), 3, 0.15) << "more that decode than a step holds";
}

TEST(Scheduler, GivesNoCreditForHavingBeenAway) {
  Simulation simulation(with(10));
  simulation.add(2000, 0, "a");
  for (int i = 0; i < 100; ++i) simulation.step();
  SimulatedRequest& back = simulation.add(1000, 0, "b");
  uint64_t of_b = 0;
  for (int i = 0; i < 20; ++i) {
    for (const auto& [work, count] : simulation.step()) of_b += work == &back ? count : 0;
  }
  EXPECT_NEAR(static_cast<double>(of_b), 100, 20) << "half of 20 steps";
}

TEST(Scheduler, BoundsTheQueueByRequestsAndTokens) {
  SchedulerOptions options = with(10, 1);
  options.max_queued = 2;
  options.max_queued_tokens = 50;
  Simulation simulation(options);
  simulation.add(20);
  expect_error(Code::Busy, HasSubstr("limit of 50"), [&] { simulation.add(31); });
  simulation.add(30);
  expect_error(Code::Busy, HasSubstr("the limit is 2"), [&] { simulation.add(0); });
  EXPECT_EQ(simulation.scheduler.num_queued(), 2u);
  simulation.step();  // one has begun
  EXPECT_EQ(simulation.scheduler.num_queued(), 1u);
  EXPECT_EQ(simulation.scheduler.num_queued_tokens(), 30u);
  simulation.add(20);
}

TEST(Scheduler, LetsNoMoreBeginThanMayRun) {
  Simulation simulation(with(100, 2));
  for (int i = 0; i < 5; ++i) simulation.add(10, 5);
  EXPECT_EQ(simulation.step().size(), 2u);
  EXPECT_EQ(simulation.scheduler.num_running(), 2u);
  EXPECT_EQ(simulation.scheduler.num_waiting(), 3u);
}

TEST(Scheduler, LooksAtFewOfALongQueue) {
  Simulation full(with(100, 2));
  for (int i = 0; i < 1000; ++i) full.add(10, 50);
  full.step();
  full.memory.num_looks = 0;
  EXPECT_EQ(full.step().size(), 2u);
  EXPECT_EQ(full.memory.num_looks, 0u) << "nobody may begin";

  Simulation tight(with(100), 60);
  const SimulatedRequest& running = tight.add(500, 5);
  tight.step();
  // They rank first but do not fit beside the running request.
  for (int i = 0; i < 1000; ++i) tight.add(550, 5, "other");
  tight.memory.num_looks = 0;
  EXPECT_EQ(tight.step(), (Simulation::Picks{{&running, 100}}));
  EXPECT_LT(tight.memory.num_looks, 50u);
}

TEST(Scheduler, PreemptsTheYoungerAndLosesNothing) {
  Simulation simulation(with(100), 10);
  SimulatedRequest& old = simulation.add(40, 40);
  SimulatedRequest& young = simulation.add(40, 40);
  for (int i = 0;
       i < 300 && simulation.scheduler.num_running() + simulation.scheduler.num_waiting() > 0;
       ++i) {
    simulation.step();
  }
  EXPECT_EQ(old.done, 80u);
  EXPECT_EQ(young.done, 80u);
  EXPECT_THAT(simulation.memory.dropped, ElementsAre(&young)) << "no to and fro";
  EXPECT_EQ(simulation.memory.free(), 10u);
}

TEST(Scheduler, PreemptsTheYoungestOfTheLowest) {
  Simulation simulation(with(100), 9);
  simulation.add(20, 10, "", 1, 0);
  SimulatedRequest& young = simulation.add(20, 10, "", 1, 0);
  SimulatedRequest& between = simulation.add(20, 10, "", 1, 1);
  SimulatedRequest& high = simulation.add(20, 10, "", 1, 1);
  simulation.step();
  EXPECT_THAT(simulation.memory.dropped, IsEmpty()) << "8 of 9 blocks are held";
  // Its third block is available, those of the others are not.
  simulation.step();
  EXPECT_THAT(simulation.memory.dropped, ElementsAre(&young));
  EXPECT_EQ(between.blocks, 3u);
  EXPECT_EQ(high.blocks, 3u);
}

TEST(Scheduler, LetsHighPrioritiesTakeBlocksFromLowOnes) {
  Simulation simulation(with(100), 6);
  SimulatedRequest& low = simulation.add(40, 10);
  simulation.step();
  SimulatedRequest& high = simulation.add(40, 10, "", 1, 1);
  const auto picks = simulation.step();
  EXPECT_EQ(picks.back(), (std::pair<const Work*, uint32_t>{&high, 40}));
  EXPECT_EQ(low.blocks, 0u);
  for (int i = 0; i < 40; ++i) simulation.step();
  EXPECT_EQ(high.done, 50u);
  EXPECT_EQ(low.done, 50u);
}

TEST(Scheduler, RefusesWhatCanNeverFit) {
  Simulation simulation(with(1000), 5);
  SimulatedRequest& big = simulation.add(60);
  SimulatedRequest& small = simulation.add(20);
  simulation.step();
  EXPECT_TRUE(big.refused);
  EXPECT_EQ(small.done, 20u);
}

TEST(Scheduler, PutsOffWhatOthersAreComputing) {
  Simulation simulation(with(100));
  SimulatedRequest& first = simulation.add(30);
  SimulatedRequest& same = simulation.add(30);
  same.waits = true;
  EXPECT_EQ(simulation.step(), (Simulation::Picks{{&first, 30}}));
  same.waits = false;
  EXPECT_EQ(simulation.step(), (Simulation::Picks{{&same, 30}}));
}

TEST(Scheduler, TakesBackWhatWasNotComputed) {
  Simulation simulation(with(10));
  SimulatedRequest& request = simulation.add(100, 0, "a");
  const auto picks = simulation.scheduler.pick(simulation.now, 1000, 1000, simulation.memory);
  EXPECT_EQ(request.client->served, 10);
  for (const Pick& pick : picks) Scheduler::take_back(pick);
  EXPECT_EQ(request.client->served, 0);
}

/// With random work, everything ends, all blocks return, and every pick with work does something.
TEST(Scheduler, ComesToAnEndWithRandomWork) {
  uint32_t state = 7;
  const auto random = [&state](uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
  };
  for (int round = 0; round < 60; ++round) {
    SchedulerOptions options = with(1 + random(40), 1 + random(8));
    Simulation simulation(options, 8 + random(30));
    uint32_t to_come = 40;
    for (int step = 0; step < 100000; ++step) {
      if (to_come > 0 && random(3) == 0) {
        const char* clients[] = {"a", "b", "c"};
        simulation.add(1 + random(70), random(60), clients[random(3)], 1 + random(3),
                       static_cast<int32_t>(random(3)));
        --to_come;
      }
      const uint64_t refused_before = static_cast<uint64_t>(
          std::ranges::count_if(simulation.requests, &SimulatedRequest::refused));
      const bool had_work = !simulation.scheduler.empty();
      const auto picks = simulation.step(1 + random(20));
      const uint64_t refused = static_cast<uint64_t>(
          std::ranges::count_if(simulation.requests, &SimulatedRequest::refused));
      ASSERT_TRUE(!had_work || !picks.empty() || refused > refused_before) << round;
      if (to_come == 0 && simulation.scheduler.empty()) break;
    }
    for (const SimulatedRequest& request : simulation.requests)
      ASSERT_TRUE(request.refused || request.done == request.total) << round;
  }
}

}  // namespace
}  // namespace tenon::scheduling
