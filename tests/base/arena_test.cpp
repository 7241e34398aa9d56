#include "base/arena.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "tests/base/expect_error.h"
#include "tests/base/faulty_system.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Arena, SpansAreAlignedApartAndZero) {
  Arena arena(System::real(), 3 * kHugePageBytes, "weights");
  const auto a = arena.allocate(100);
  const auto b = arena.allocate(1, 4096);
  const auto c = arena.allocate(kHugePageBytes, kHugePageBytes);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b.data()) % 4096, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(c.data()) % kHugePageBytes, 0u);
  EXPECT_GE(b.data(), a.data() + a.size());
  EXPECT_GE(c.data(), b.data() + b.size());
  EXPECT_TRUE(std::ranges::all_of(c, [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST(Arena, FullArenaSaysNeededAndLeft) {
  Arena arena(System::real(), 1000, "scratch");
  arena.allocate(900, 1);
  EXPECT_EQ(arena.allocate(100, 1).size(), 100u);
  EXPECT_EQ(arena.allocate(0, 1).size(), 0u);
  expect_error(Code::NoMemory, HasSubstr("scratch: needs 1 bytes, 0 of 1000 are left"),
               [&] { arena.allocate(1, 1); });
}

TEST(Arena, HugeRequestsDoNotWrap) {
  Arena arena(System::real(), 1000, "scratch");
  arena.allocate(1);
  for (const uint64_t size : {~uint64_t{0}, ~uint64_t{0} - 1, uint64_t{1} << 63}) {
    expect_error(Code::NoMemory, HasSubstr("scratch"), [&] { arena.allocate(size); });
  }
  EXPECT_EQ(arena.used(), 1u);
}

TEST(Arena, OfNoBytes) {
  Arena arena(System::real(), 0, "empty");
  EXPECT_EQ(arena.allocate(0).size(), 0u);
  EXPECT_EQ(arena.huge_page_bytes(), 0u);
  expect_error(Code::NoMemory, HasSubstr("empty"), [&] { arena.allocate(1); });
}

TEST(Arena, MoreThanTheMachineHasIsRefusedUntouched) {
  const auto system = std::make_shared<FaultySystem>();
  system->set_available_memory(1 << 20);
  expect_error(Code::NoMemory,
               AllOf(HasSubstr("weights: needs 1048577 bytes"), HasSubstr("1048576 are available")),
               [&] { Arena(system, (1 << 20) + 1, "weights"); });
  EXPECT_EQ(system->num_calls(), 0u);
}

TEST(Arena, EveryFailingCallIsAnErrorOrHarmless) {
  for (uint64_t n = 0;; ++n) {
    const auto system = std::make_shared<FaultySystem>(n, ENOMEM);
    try {
      Arena arena(system, 5 * kHugePageBytes, "weights");
      arena.allocate(5 * kHugePageBytes, kHugePageBytes);
      EXPECT_LE(arena.huge_page_bytes(), arena.size());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::NoMemory);
    }
    EXPECT_TRUE(system->all_released());
    if (!system->failed()) break;
  }
}

TEST(Arena, ReportsNoMoreHugePagesThanItHas) {
  Arena arena(System::real(), 4 * kHugePageBytes, "weights");
  EXPECT_EQ(arena.huge_page_bytes(), 0u) << "nothing is touched yet";
  std::ranges::fill(arena.allocate(4 * kHugePageBytes), std::byte{1});
  EXPECT_LE(arena.huge_page_bytes(), 4 * kHugePageBytes);
}

TEST(Arena, AllocatesFromSeveralThreads) {
  Arena arena(System::real(), 4 * 1000 * 64, "weights");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) {
        const auto span = arena.allocate(64);
        EXPECT_EQ(span[0], std::byte{0}) << "handed out twice";
        std::ranges::fill(span, static_cast<std::byte>(t + 1));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(arena.used(), arena.size());
}

}  // namespace
}  // namespace tenon
