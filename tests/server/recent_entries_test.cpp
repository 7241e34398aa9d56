// LRU entries: eviction, survival, and refusal of too large ones.
#include "server/work/recent_entries.h"

#include <gtest/gtest.h>

#include <string>

namespace tenon_http::test {
namespace {

class RecentEntriesTest : public testing::Test {
 protected:
  /// Value of an entry, or -1.
  int look(const std::string& name) {
    const int* const found = entries_.find(name, [](int) { return true; });
    return found == nullptr ? -1 : *found;
  }

  RecentEntries<int> entries_{30};
};

TEST_F(RecentEntriesTest, TheOneUsedLongestAgoGoes) {
  entries_.add("a", 1, 10);
  entries_.add("b", 2, 10);
  entries_.add("c", 3, 10);
  EXPECT_EQ(look("a"), 1);
  entries_.add("d", 4, 10);
  EXPECT_EQ(look("b"), -1);
  entries_.add("e", 5, 20);  // evicts two
  EXPECT_EQ(look("c"), -1);
  EXPECT_EQ(look("a"), -1);
  EXPECT_EQ(look("d"), 4);
  EXPECT_EQ(look("e"), 5);
}

TEST_F(RecentEntriesTest, OneOfTheSameNameTakesItsPlaceAndItsBytes) {
  for (int i = 0; i < 100; ++i) entries_.add("a", i, 20);
  entries_.add("b", 2, 10);
  EXPECT_EQ(look("a"), 99);
  EXPECT_EQ(look("b"), 2);
}

TEST_F(RecentEntriesTest, WhatIsLargerThanTheLimitChangesNothing) {
  entries_.add("a", 1, 30);
  entries_.add("a", 2, 31);
  entries_.add("b", 3, 31);
  EXPECT_EQ(look("a"), 1);
  EXPECT_EQ(look("b"), -1);
}

TEST_F(RecentEntriesTest, WhatIsNotAcceptedIsNotUsedAndNotRemoved) {
  const auto never = [](int) { return false; };
  entries_.add("a", 1, 15);
  entries_.add("b", 2, 15);
  EXPECT_EQ(entries_.find("a", never), nullptr);
  EXPECT_FALSE(entries_.remove("b", never));
  entries_.add("c", 3, 15);
  EXPECT_EQ(look("a"), -1) << "it was not used";
  EXPECT_TRUE(entries_.remove("b", [](int value) { return value == 2; }));
  EXPECT_EQ(look("b"), -1);
  entries_.add("d", 4, 15);
  EXPECT_EQ(look("c"), 3) << "the bytes of what was removed are free";
}

}  // namespace
}  // namespace tenon_http::test
