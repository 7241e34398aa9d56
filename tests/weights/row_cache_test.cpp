// The row cache: rows kept, rows evicted, and rows claimed by a step.
#include "weights/row_cache.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "tests/base/faulty_system.h"

namespace tenon {
namespace {

constexpr uint64_t kRowBytes = 12;

RowCache cache_of(uint64_t rows) { return {rows, kRowBytes, System::real()}; }

TEST(RowCache, OfNoRowsHasNoPlace) {
  RowCache cache = cache_of(0);
  EXPECT_EQ(cache.num_places(), 0u);
  cache.begin_step();
  const RowCache::Claim claim = cache.claim(3);
  EXPECT_EQ(claim.place, RowCache::kNoPlace);
  EXPECT_TRUE(claim.is_missing);
  EXPECT_EQ(RowCache::memory_bytes(0, kRowBytes), 0u);
}

TEST(RowCache, TakesWholeSetsAndTheMemoryThatItSays) {
  for (const uint64_t rows : {1, 7, 8, 9, 15, 16, 1000}) {
    const RowCache cache = cache_of(rows);
    EXPECT_LE(cache.num_places(), rows);
    EXPECT_GT(cache.num_places() + 8, rows);
    EXPECT_EQ(RowCache::memory_bytes(rows, kRowBytes),
              cache.num_places() * RowCache::bytes_of_row(kRowBytes));
    EXPECT_EQ(cache.bytes(0).size(), kRowBytes);
  }
}

TEST(RowCache, KeepsARowInItsPlaceUntilOthersNeedIt) {
  RowCache cache = cache_of(3);
  std::set<uint32_t> places;
  for (uint64_t row = 10; row < 13; ++row) {
    cache.begin_step();
    const RowCache::Claim claim = cache.claim(row);
    EXPECT_TRUE(claim.is_missing);
    places.insert(claim.place);
    EXPECT_EQ(cache.claim(row).place, claim.place);
    EXPECT_FALSE(cache.claim(row).is_missing);
  }
  EXPECT_EQ(places.size(), 3u);
  cache.begin_step();
  EXPECT_FALSE(cache.claim(10).is_missing);
  cache.begin_step();
  EXPECT_TRUE(cache.claim(13).is_missing) << "11, claimed longest ago, makes room";
  cache.begin_step();
  EXPECT_FALSE(cache.claim(10).is_missing);
  EXPECT_FALSE(cache.claim(12).is_missing);
  EXPECT_FALSE(cache.claim(13).is_missing);
  cache.begin_step();
  EXPECT_TRUE(cache.claim(11).is_missing);
}

TEST(RowCache, EvictsNothingThatTheStepHasClaimed) {
  RowCache cache = cache_of(2);
  cache.begin_step();
  const RowCache::Claim first = cache.claim(1);
  const RowCache::Claim second = cache.claim(2);
  EXPECT_NE(first.place, second.place);
  const RowCache::Claim third = cache.claim(3);
  EXPECT_EQ(third.place, RowCache::kNoPlace);
  EXPECT_TRUE(third.is_missing);
  EXPECT_EQ(cache.claim(1).place, first.place);
  cache.begin_step();
  EXPECT_EQ(cache.claim(3).place, second.place) << "2 was claimed before 1 was, again";
}

TEST(RowCache, ForgetsWhatWasNotWritten) {
  RowCache cache = cache_of(2);
  cache.begin_step();
  const uint32_t kept = cache.claim(1).place;
  cache.forget(cache.claim(2).place);
  cache.begin_step();
  EXPECT_FALSE(cache.claim(1).is_missing);
  const RowCache::Claim again = cache.claim(2);
  EXPECT_TRUE(again.is_missing);
  EXPECT_NE(again.place, kept);
}

TEST(RowCache, SpreadsRowsOverSets) {
  RowCache cache = cache_of(800);
  cache.begin_step();
  uint32_t without = 0;
  for (uint64_t row = 0; row < 400; ++row) {
    without += cache.claim(row).place == RowCache::kNoPlace ? 1 : 0;
  }
  EXPECT_LT(without, 20u);
}

TEST(RowCache, SaysWhatMemoryIsFor) {
  const auto system = std::make_shared<FaultySystem>(0);
  try {
    (void)RowCache(8, kRowBytes, system);
    ADD_FAILURE() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::NoMemory);
    EXPECT_NE(std::string(error.what()).find("row cache"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tenon
