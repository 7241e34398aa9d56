// Huge pages: requested for whole pages of large memory only; a refusal is harmless.
#include "base/huge_pages.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/base/faulty_system.h"

namespace tenon {
namespace {

constexpr size_t kSmall = size_t{1} << 20;
constexpr size_t kLarge = size_t{8} << 20;

TEST(HugePages, LeaveSmallMemoryAlone) {
  FaultySystem system(0, ENOMEM);  // the first call fails
  EXPECT_GE(string_with_room(system, kSmall).capacity(), kSmall);
  EXPECT_EQ(system.num_calls(), 0u);
}

TEST(HugePages, AreAskedForOnceUnderLargeMemory) {
  FaultySystem system(FaultySystem::kNever);
  EXPECT_GE(string_with_room(system, kLarge).capacity(), kLarge);
  EXPECT_EQ(system.num_calls(), 1u);
}

TEST(HugePages, ARefusalLeavesTheMemoryUsable) {
  FaultySystem system(0, ENOMEM);
  std::string text = string_with_room(system, kLarge);
  text.assign(kLarge, 'a');
  EXPECT_EQ(text.back(), 'a');
}

}  // namespace
}  // namespace tenon
