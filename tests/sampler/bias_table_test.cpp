#include "sampler/bias_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/error.h"

namespace tenon {
namespace {

std::map<int32_t, float> contents(BiasTable& table) {
  table.settle();
  std::map<int32_t, float> out;
  int32_t before = -1;
  for (const LogitBias& entry : table.settled()) {
    EXPECT_LT(before, entry.token);
    before = entry.token;
    out[entry.token] = entry.bias;
  }
  return out;
}

TEST(BiasTable, HoldsWhatWasSetLast) {
  std::mt19937 random(1);
  BiasTable table;
  std::map<int32_t, float> expected;
  for (int i = 0; i < 2'000; ++i) {
    const auto token = static_cast<int32_t>(random() % 50);
    const auto bias = static_cast<float>(random() % 3);
    table.set(token, bias);
    expected.erase(token);
    if (bias != 0) expected[token] = bias;
    EXPECT_EQ(table.has(token), bias != 0);
    if (random() % 7 == 0) {
      EXPECT_EQ(contents(table), expected);
    }
  }
  EXPECT_EQ(contents(table), expected);
  table.clear();
  EXPECT_TRUE(contents(table).empty());
}

TEST(BiasTable, RefusesTooManyTokens) {
  BiasTable table;
  const auto most = static_cast<int32_t>(BiasTable::kMaxTokens);
  for (int32_t token = most; token-- > 0;) table.set(token, 1);
  EXPECT_THROW(table.set(most, 1), Error);
  EXPECT_NO_THROW(table.set(0, 2));
  table.settle();
  EXPECT_THROW(table.set(most, 1), Error);
  table.set(5, 0);
  EXPECT_NO_THROW(table.set(most, 1));
  EXPECT_EQ(contents(table).size(), BiasTable::kMaxTokens);
}

}  // namespace
}  // namespace tenon
