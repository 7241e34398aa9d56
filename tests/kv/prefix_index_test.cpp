// The prefix index: hits, misses despite equal hashes, order of eviction.
#include "kv/prefix_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/kv/fake_slabs.h"

namespace tenon {
namespace {

using Cause = PrefixMiss::Cause;

class PrefixIndexes : public testing::Test {
 protected:
  using Text = std::vector<int32_t>;

  static Text text(int32_t first, size_t blocks) {
    Text tokens(4 * blocks);
    std::iota(tokens.begin(), tokens.end(), first);
    return tokens;
  }
  std::vector<Hash128> keys(const Text& text, std::string_view salt = "") {
    std::vector<Hash128> keys;
    for (size_t i = 0; i < text.size() / 4; ++i) {
      keys.push_back(index_.key(before(keys, i, salt), block(text, i)));
    }
    return keys;
  }
  Hash128 before(const std::vector<Hash128>& keys, size_t i, std::string_view salt = "") {
    return i == 0 ? index_.root(salt) : keys[i - 1];
  }
  static std::span<const int32_t> block(const Text& text, size_t i) {
    return std::span(text).subspan(4 * i, 4);
  }
  /// Inserts a text whose blocks only the index holds afterwards.
  void insert(const Text& text, std::string_view salt = "") {
    const auto all = keys(text, salt);
    for (size_t i = 0; i < all.size(); ++i) {
      const uint32_t own = pool_->allocate();
      EXPECT_FALSE(
          index_.insert(before(all, i, salt), all[i], i == 0, block(text, i), {&own, 1}).empty());
      pool_->release(own);
    }
  }
  size_t num_found(const Text& text, std::string_view salt = "") {
    const auto all = keys(text, salt);
    size_t i = 0;
    while (i < all.size() && !index_.find(before(all, i, salt), all[i], block(text, i)).empty())
      ++i;
    return i;
  }
  PrefixMiss explain(const Text& text, size_t i, std::string_view salt = "") {
    const auto all = keys(text, salt);
    return index_.explain(before(all, i, salt), all[i], block(text, i), i);
  }

  FakeSlabs slabs_;
  std::shared_ptr<BlockPool> pool_ = make_pool(slabs_, {.block_bytes = 8, .block_tokens = 4},
                                               {.slab_bytes = 8, .budget_bytes = 80});
  PrefixIndex index_{std::span(&pool_, 1), 5};
};

TEST_F(PrefixIndexes, FindTheLongestBeginning) {
  insert(text(0, 3));
  EXPECT_EQ(num_found(text(0, 5)), 3u);
  EXPECT_EQ(num_found(text(0, 2)), 2u);
  EXPECT_EQ(num_found(text(1, 3)), 0u);
  Text other = text(0, 3);
  other[5] = 99;
  EXPECT_EQ(num_found(other), 1u);
  EXPECT_EQ(num_found(text(0, 3), "salt"), 0u);
}

TEST_F(PrefixIndexes, CompareTokensWhereHashesAgree) {
  insert(text(0, 2));
  const auto all = keys(text(0, 2));
  Text forged = text(0, 2);
  forged[0] = 7;
  EXPECT_TRUE(index_.find(index_.root(""), all[0], block(forged, 0)).empty());
  EXPECT_TRUE(index_.find(all[1], all[0], block(text(0, 2), 0)).empty()) << "another way there";
  const uint32_t own = pool_->allocate();
  EXPECT_TRUE(index_.insert(index_.root(""), all[0], true, block(forged, 0), {&own, 1}).empty());
  pool_->release(own);
  EXPECT_EQ(num_found(text(0, 2)), 2u);
}

TEST_F(PrefixIndexes, GiveTheFirstBlockOfTwoEqualOnes) {
  insert(text(0, 1));
  const auto all = keys(text(0, 1));
  const uint32_t first = index_.find(index_.root(""), all[0], block(text(0, 1), 0))[0];
  const uint32_t second = pool_->allocate();
  EXPECT_EQ(index_.insert(index_.root(""), all[0], true, block(text(0, 1), 0), {&second, 1})[0],
            first);
  EXPECT_EQ(pool_->references(second), 1u);
  pool_->release(second);
}

TEST_F(PrefixIndexes, TakeNothingWhoseBeginningIsGone) {
  const auto all = keys(text(0, 2));
  const uint32_t own = pool_->allocate();
  EXPECT_TRUE(index_.insert(all[0], all[1], false, block(text(0, 2), 1), {&own, 1}).empty());
  pool_->release(own);
}

TEST_F(PrefixIndexes, EvictTheLeastRecentlyUsedEndsFirst) {
  insert(text(0, 3));
  insert(text(100, 3));
  index_.touch(keys(text(0, 3)));
  EXPECT_TRUE(index_.evict());
  EXPECT_EQ(num_found(text(100, 3)), 2u);
  EXPECT_EQ(num_found(text(0, 3)), 3u);
  EXPECT_TRUE(index_.evict() && index_.evict());
  EXPECT_EQ(num_found(text(100, 3)), 0u);
  EXPECT_EQ(num_found(text(0, 3)), 3u);
  EXPECT_EQ(pool_->num_used(), 3u);
}

TEST_F(PrefixIndexes, EvictNothingThatIsHeld) {
  insert(text(0, 2));
  const auto all = keys(text(0, 2));
  const uint32_t held = index_.find(all[0], all[1], block(text(0, 2), 1))[0];
  pool_->retain(held);
  EXPECT_EQ(pool_->num_idle(), 1u);
  EXPECT_FALSE(index_.evict()) << "the end is held, the beginning is not the end";
  pool_->release(held);
  EXPECT_EQ(pool_->num_idle(), 2u);
  EXPECT_TRUE(index_.evict() && index_.evict());
  EXPECT_FALSE(index_.evict());
  EXPECT_EQ(pool_->num_used(), 0u);
}

TEST_F(PrefixIndexes, SayWhyNotMore) {
  EXPECT_EQ(explain(text(0, 2), 0).cause, Cause::None);
  insert(text(0, 2));
  Text other = text(0, 2);
  other[6] = 99;
  EXPECT_EQ(explain(other, 1).cause, Cause::DifferentText);
  EXPECT_EQ(explain(other, 1).position, 6u);
  EXPECT_EQ(explain(text(0, 3), 2).cause, Cause::None) << "it only goes on";
  EXPECT_EQ(explain(text(0, 2), 0, "salt").cause, Cause::Salt);
  other = text(0, 2);
  other[3] = 99;
  insert(other, "salt");
  EXPECT_EQ(explain(text(0, 2), 0, "salt").cause, Cause::Salt) << "for all that they begin alike";
  EXPECT_EQ(explain(text(0, 2), 0, "salt").position, 0u);
  index_.evict();
  EXPECT_EQ(explain(text(0, 2), 1).cause, Cause::Evicted);
  EXPECT_EQ(explain(text(0, 2), 1).position, 4u);
}

TEST_F(PrefixIndexes, SayWhatIsLikeATextWhenOthersAreGone) {
  const Text oldest = text(0, 2);
  insert(oldest);
  Text newest = oldest;
  newest[6] = 99;
  insert(newest);
  EXPECT_TRUE(index_.evict());
  EXPECT_EQ(num_found(oldest), 1u);
  Text like_newest = newest;
  like_newest[7] = 98;
  EXPECT_EQ(explain(like_newest, 1).cause, Cause::DifferentText);
  EXPECT_EQ(explain(like_newest, 1).position, 7u);
}

TEST_F(PrefixIndexes, SayNothingOfASaltWhereThereIsNone) {
  insert(text(0, 1));
  EXPECT_TRUE(index_.evict());
  EXPECT_EQ(explain(text(0, 1), 0).cause, Cause::Evicted);
  Text other = text(0, 1);
  insert(other);
  other[3] = 99;
  EXPECT_EQ(explain(other, 0).cause, Cause::DifferentText);
  EXPECT_EQ(explain(other, 0).position, 3u);
}

}  // namespace
}  // namespace tenon
