#include "text/grammar/interner.h"

#include <gtest/gtest.h>

#include <vector>

namespace tenon::grammar {
namespace {

using Words = std::vector<uint32_t>;

TEST(Interner, GivesEqualSequencesOneNumber) {
  Interner interner;
  bool is_new = false;
  EXPECT_EQ(interner.intern(Words{3, 4}, &is_new), 0u);
  EXPECT_TRUE(is_new);
  EXPECT_EQ(interner.intern(Words{7}), 1u);
  EXPECT_EQ(interner.intern(Words{}), 2u);
  EXPECT_EQ(interner.intern(Words{3, 4}, &is_new), 0u);
  EXPECT_FALSE(is_new);
  EXPECT_EQ(Words(interner.words(1).begin(), interner.words(1).end()), Words{7});
  EXPECT_EQ(interner.find(Words{4, 3}), Interner::kAbsent);
  EXPECT_EQ(interner.size(), 3u);
}

TEST(Interner, KeepsItsNumbersWhileItGrows) {
  Interner interner;
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(interner.intern(Words{i, i * i}), i);
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(interner.find(Words{i, i * i}), i);
  interner.clear();
  EXPECT_EQ(interner.find(Words{1, 1}), Interner::kAbsent);
  EXPECT_EQ(interner.intern(Words{1, 1}), 0u);
}

}  // namespace
}  // namespace tenon::grammar
