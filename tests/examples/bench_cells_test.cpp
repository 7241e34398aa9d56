#include "bench_cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/temp_folder.h"

namespace {

using tenon_program::BenchCell;
using tenon_program::BenchResult;
using tenon_program::Clock;
using tenon_program::percentile;
using testing::DoubleEq;
using testing::Each;
using testing::SizeIs;

/// Runs a cell with a clock that advances a second per reading.
BenchResult run_by_seconds(const BenchCell& cell, uint64_t repetitions,
                           const tenon::Model& model = tenon::Model(TENON_DEMO_MODEL)) {
  Clock::time_point time{};
  return run_cell(
      model, cell, repetitions, [](double) {}, [&] { return time += std::chrono::seconds(1); });
}

TEST(BenchCell, PrefillGivesTokensByTheSecondsOfThePromptAlone) {
  const BenchResult result = run_by_seconds({.decode = false, .tokens = 24}, 3);
  // A second to the end of the prompt, a second to the first token.
  EXPECT_THAT(result.rates, SizeIs(3));
  EXPECT_THAT(result.rates, Each(DoubleEq(24)));
  EXPECT_THAT(result.first_token, SizeIs(3));
  EXPECT_THAT(result.first_token, Each(DoubleEq(2)));
  EXPECT_TRUE(result.per_token.empty());
}

TEST(BenchCell, DecodeGivesTheSecondsOfEveryTokenAndTokensBySecond) {
  const BenchResult result = run_by_seconds({.decode = true, .tokens = 9, .sequences = 3}, 2);
  // Nine steps of a second with a token of each sequence, and a second to the end.
  EXPECT_THAT(result.per_token, SizeIs(2 * 3 * 9));
  EXPECT_THAT(result.per_token, Each(DoubleEq(1)));
  EXPECT_THAT(result.rates, SizeIs(2));
  EXPECT_THAT(result.rates, Each(DoubleEq(3 * 9 / 10.0)));
}

TEST(BenchCell, TextsOfStatesAreNotComputedAgain) {
  const tenon::TempFolder folder;
  tenon::write_random_model(folder.path("m"), "tiny-mamba2", "q8_0");
  const tenon::Model model(folder.path("m"), {.threads = 1, .slice = 16});
  // The last checkpoint is after 96 tokens: 28 more tokens per text would take steps of 16.
  const BenchCell decode{.decode = true, .tokens = 9, .sequences = 3, .depth = 124};
  const BenchResult result = run_by_seconds(decode, 2, model);
  EXPECT_THAT(result.per_token, Each(DoubleEq(1)));
  EXPECT_THAT(result.rates, Each(DoubleEq(3 * 9 / 10.0)));
}

TEST(Percentile, HalfOfThemIsTheMedian) {
  EXPECT_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(percentile({7}, 0.5), 7);
  EXPECT_EQ(percentile({9, 1}, 0.5), 5);
  EXPECT_EQ(percentile({9, 1, 2}, 0.5), 2);
  EXPECT_EQ(percentile({9, 1, 2, 4}, 0.5), 3);
}

TEST(Percentile, LiesOnALineBetweenItsNeighbours) {
  EXPECT_EQ(percentile({7}, 0.99), 7);
  EXPECT_DOUBLE_EQ(percentile({0, 10}, 0.95), 9.5);
  EXPECT_EQ(percentile({1, 2, 3, 4, 5}, 0.75), 4);
  EXPECT_EQ(percentile({1, 2, 3}, 1), 3);
  EXPECT_EQ(percentile({1, 2, 3}, 0), 1);
}

}  // namespace
