// Partition refinement: one round per step, and no state examined more often than necessary.
#include "text/grammar/refine.h"

#include <gtest/gtest.h>

namespace tenon::grammar {
namespace {

/// Chain of `n` states, the last in a group of its own.
struct Chain {
  explicit Chain(uint32_t n)
      : group(n, 0), before(n, [n](auto visit) {
          for (uint32_t s = 0; s + 1 < n; ++s) visit(s, s + 1);
        }) {
    group[n - 1] = 1;
  }
  bool run(size_t rounds, uint64_t* looks = nullptr) {
    const auto n = static_cast<uint32_t>(group.size());
    return refine(
        group, num_groups, before, rounds,
        [&](uint32_t s, std::vector<uint32_t>& row) {
          if (looks != nullptr) ++*looks;
          if (s + 1 < n) row.push_back(group[s + 1]);
        },
        [](size_t) { return true; });
  }
  std::vector<uint32_t> group;
  uint32_t num_groups = 2;
  Predecessors before;
};

TEST(Refine, TellsApartAfterAsManyRoundsAsSteps) {
  Chain chain(10);
  EXPECT_FALSE(chain.run(3));
  EXPECT_EQ(chain.num_groups, 5u);
  EXPECT_EQ(chain.group[0], chain.group[5]);
  EXPECT_NE(chain.group[5], chain.group[6]);
  EXPECT_NE(chain.group[6], chain.group[7]);
}

TEST(Refine, LooksAtEachStateOfAChainTwice) {
  Chain chain(5000);
  uint64_t looks = 0;
  EXPECT_TRUE(chain.run(kAllRounds, &looks));
  EXPECT_EQ(chain.num_groups, 5000u);
  EXPECT_LE(looks, 10'000u);
}

TEST(Refine, LeavesStatesWithoutAGroupAlone) {
  Chain chain(4);
  chain.group[0] = kNoGroup;
  EXPECT_TRUE(chain.run(kAllRounds));
  EXPECT_EQ(chain.group[0], kNoGroup);
  EXPECT_NE(chain.group[1], chain.group[2]);
}

}  // namespace
}  // namespace tenon::grammar
