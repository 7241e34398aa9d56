// Staging buffers shared by threads: assignment and waiting.
#include "backends/gpu/staging_slots.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace tenon::gpu {
namespace {

TEST(StagingSlots, GivesTheOneWhoseCopyEndsFirst) {
  StagingSlots slots;
  slots.resize(3);
  uint64_t copies = 0;
  for (size_t expected : {0, 1, 2}) {
    const StagingSlots::Slot slot = slots.take();
    EXPECT_EQ(slot.index, expected);
    EXPECT_EQ(slot.last_copy, 0U);
  }
  for (size_t index : {2, 0, 1}) slots.send(index, [&] { return ++copies; });
  for (size_t index : {0, 1, 2}) slots.give_back(index);
  EXPECT_EQ(slots.take().index, 2U);
  EXPECT_EQ(slots.take().last_copy, 2U);
}

TEST(StagingSlots, WaitsUntilOneIsGivenBack) {
  StagingSlots slots;
  slots.resize(1);
  const StagingSlots::Slot held = slots.take();
  std::atomic<bool> has_one = false;
  std::thread other([&] {
    const StagingSlots::Slot slot = slots.take();
    has_one = true;
    EXPECT_EQ(slot.last_copy, 7U);
    slots.give_back(slot.index);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(has_one);
  slots.send(held.index, [] { return uint64_t{7}; });
  slots.give_back(held.index);
  other.join();
}

TEST(StagingSlots, ASlotHasOneThreadAtATime) {
  StagingSlots slots;
  slots.resize(2);
  std::vector<std::atomic<int>> holders(2);
  uint64_t copies = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        const size_t index = slots.take().index;
        EXPECT_EQ(holders[index]++, 0);
        slots.send(index, [&] { return ++copies; });
        --holders[index];
        slots.give_back(index);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(copies, 800U);
}

}  // namespace
}  // namespace tenon::gpu
