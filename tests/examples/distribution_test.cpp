#include "distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "failure.h"
#include "latency_histogram.h"

namespace {

using namespace tenon_program;

std::vector<uint64_t> draws(const char* text, size_t count) {
  const Distribution distribution(text);
  Random random(7);
  std::vector<uint64_t> values(count);
  for (uint64_t& value : values) value = distribution.draw(random);
  std::sort(values.begin(), values.end());
  return values;
}

TEST(Distribution, RefusesOtherTexts) {
  for (const char* text : {"",
                           "0",
                           "-3",
                           "1.5",
                           "x",
                           "5 ",
                           "nan",
                           "1048577",
                           "uniform:",
                           "uniform:5",
                           "uniform:0-5",
                           "uniform:6-5",
                           "uniform:1-2-3",
                           "lognormal:200",
                           "lognormal:200,-1",
                           "lognormal:200,9",
                           "lognormal:nan,1",
                           "exponential:0",
                           "exponential:3,4",
                           "gauss:3,4"}) {
    EXPECT_THROW(Distribution{text}, Failure) << text;
  }
}

TEST(Distribution, DrawsWhatItSays) {
  constexpr size_t kCount = 20000;
  EXPECT_EQ(draws("128", 3), (std::vector<uint64_t>{128, 128, 128}));
  EXPECT_EQ(draws("uniform:5-5", 2), (std::vector<uint64_t>{5, 5}));
  const auto uniform = draws("uniform:64-256", kCount);
  EXPECT_EQ(uniform.front(), 64u);
  EXPECT_EQ(uniform.back(), 256u);
  EXPECT_NEAR(static_cast<double>(uniform[kCount / 2]), 160, 5);
  const auto lognormal = draws("lognormal:200,0.5", kCount);
  EXPECT_NEAR(static_cast<double>(lognormal[kCount / 2]), 200, 5);
  // One standard deviation above the median: 84.1 % are below 200 * exp(0.5).
  EXPECT_NEAR(static_cast<double>(lognormal[kCount * 841 / 1000]), 329.7, 10);
  const auto exponential = draws("exponential:100", kCount);
  EXPECT_GE(exponential.front(), 1u);
  EXPECT_NEAR(static_cast<double>(exponential[kCount / 2]), 69.3, 3);
}

TEST(LatencyHistogram, TellsPercentilesWithinAPercent) {
  LatencyHistogram times;
  EXPECT_EQ(times.percentile(0.99), 0);
  EXPECT_EQ(times.mean(), 0);
  for (int i = 1; i <= 1000; ++i) times.add(1e-3 * i);
  EXPECT_EQ(times.count(), 1000u);
  EXPECT_NEAR(times.percentile(0.5), 0.5, 0.005);
  EXPECT_NEAR(times.percentile(0.95), 0.95, 0.0095);
  EXPECT_GE(times.percentile(0.99), 0.99);
  EXPECT_LE(times.percentile(1), 1.0);
  EXPECT_NEAR(times.mean(), 0.5005, 1e-9);
}

TEST(LatencyHistogram, TakesAnyTime) {
  LatencyHistogram times;
  times.add(0);
  times.add(1e9);
  EXPECT_LE(times.percentile(0.5), 1e-6);
  EXPECT_GT(times.percentile(1), 3600);
  EXPECT_EQ(times.most(), 1e9);
}

}  // namespace
