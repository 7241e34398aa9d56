// Sorting pairs by expert: orders, places, edges.
#include "backends/cpu/phases/expert_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace tenon::cpu {
namespace {

/// A plan with memory, and the routes of rows.
struct Sorted {
  Sorted(uint32_t experts, uint32_t used, const std::vector<std::vector<uint32_t>>& chosen,
         uint64_t max_rows = 64)
      : plan(experts, used, max_rows) {
    Carver size(nullptr);
    plan.carve(size);
    memory.resize(size.used() / sizeof(uint64_t) + 8);
    Carver carver(reinterpret_cast<uint8_t*>(memory.data()));
    plan.carve(carver);
    plan.clear();
    std::vector<int32_t> ids;
    for (const std::vector<uint32_t>& row : chosen) ids.insert(ids.end(), row.begin(), row.end());
    plan.sort(ids.data(), chosen.size());
  }
  ExpertPlan plan;
  std::vector<uint64_t> memory;
};

TEST(ExpertPlan, NoRowsHaveNoExperts) {
  const Sorted sorted(4, 2, {});
  EXPECT_EQ(sorted.plan.num_active(), 0u);
  EXPECT_EQ(sorted.plan.num_pairs(), 0u);
}

TEST(ExpertPlan, SortsByExpertThenByRow) {
  const Sorted sorted(9, 2, {{8, 1}, {1, 3}, {3, 8}, {1, 8}});
  const ExpertPlan& plan = sorted.plan;
  ASSERT_EQ(plan.num_active(), 3u);
  ASSERT_EQ(plan.num_pairs(), 8u);
  std::vector<uint32_t> pairs;
  for (uint32_t i = 0; i < plan.num_pairs(); ++i) pairs.push_back(plan.pair(i));
  EXPECT_THAT(pairs, testing::ElementsAre(1, 2, 6, 3, 4, 0, 5, 7));
  EXPECT_EQ(plan.active(0).expert, 1u);
  EXPECT_EQ(plan.active(1).expert, 3u);
  EXPECT_EQ(plan.active(2).expert, 8u);
  EXPECT_EQ(plan.active(2).first, 5u);
  EXPECT_EQ(plan.active(2).place, 2 * kRowInterleave);
  EXPECT_EQ(plan.active(2).num_rows, 3u);
  EXPECT_EQ(plan.expert_of(2).expert, 1u);
  EXPECT_EQ(plan.expert_of(3).expert, 3u);
  EXPECT_EQ(plan.expert_of(7).expert, 8u);
}

TEST(ExpertPlan, CountsRowsToTheLast) {
  Sorted sorted(3, 1, {});
  EXPECT_FALSE(sorted.plan.finish_row(3));
  EXPECT_FALSE(sorted.plan.finish_row(3));
  EXPECT_TRUE(sorted.plan.finish_row(3));
  sorted.plan.clear();
  EXPECT_TRUE(sorted.plan.finish_row(1));
}

TEST(ExpertPlan, EveryPairOnceWithinItsPlaces) {
  std::mt19937 random(5);
  for (const uint32_t experts : {1u, 3u, 40u, 200u}) {
    for (const uint32_t used : {1u, 2u, 8u}) {
      if (used > experts) continue;
      std::vector<std::vector<uint32_t>> chosen(37);
      for (auto& row : chosen) {
        std::set<uint32_t> experts_of_row;
        while (experts_of_row.size() < used) experts_of_row.insert(random() % experts);
        row.assign(experts_of_row.begin(), experts_of_row.end());
      }
      const Sorted sorted(experts, used, chosen, chosen.size());
      std::set<uint32_t> seen;
      uint32_t place = 0;
      for (uint32_t a = 0; a < sorted.plan.num_active(); ++a) {
        const ExpertRows& rows = sorted.plan.active(a);
        EXPECT_EQ(rows.place % kRowInterleave, 0u);
        EXPECT_GE(rows.place, place);
        place = rows.place + rows.num_rows;
        for (uint32_t i = 0; i < rows.num_rows; ++i) {
          const uint32_t pair = sorted.plan.pair(rows.first + i);
          EXPECT_EQ(chosen[pair / used][pair % used], rows.expert);
          EXPECT_TRUE(seen.insert(pair).second);
        }
      }
      EXPECT_EQ(seen.size(), 37u * used);
      EXPECT_LE(place, sorted.plan.max_places());
    }
  }
}

}  // namespace
}  // namespace tenon::cpu
