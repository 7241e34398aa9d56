// Sequences over cache groups of every kind: after any operation, each step finds the values of its
// text in its blocks. Blocks hold hashes of the text instead of keys, values and states, so that
// each can be checked.
#include "engine/sequence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "tests/kv/fake_slabs.h"

namespace tenon {
namespace {

constexpr uint32_t kBlockTokens = 4;
constexpr uint32_t kWindow = 6;

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  uint64_t below(uint64_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % limit;
  }

 private:
  uint64_t state_;
};

uint64_t hash_of(std::span<const Token> text) {
  return hash_bytes(std::as_bytes(text), text.size()).low;
}

/// A model whose cache holds hashes of the text up to each position.
class HashModel {
 public:
  HashModel(std::vector<BlockPoolOptions> groups, uint64_t budget_bytes)
      : pools_(make_block_pools(slabs_, groups, 256, budget_bytes)), index_(pools_, 7) {}

  [[nodiscard]] Sequence sequence() const { return {pools_, 1000, index_.root("")}; }
  std::span<const std::shared_ptr<BlockPool>> pools() const { return pools_; }
  PrefixIndex& index() { return index_; }

  /// Computes up to `count` pending tokens in a step, like the engine; returns false without room.
  bool step(Sequence& sequence, uint32_t count) {
    count = static_cast<uint32_t>(std::min<uint64_t>(count, sequence.num_pending()));
    count = sequence.slice_limit(count);
    sequence.trim();
    std::vector<uint64_t> needed;
    for (const auto& table : sequence.tables()) {
      needed.push_back(table->num_needed(sequence.cached(), count));
    }
    while (!have_room(pools_, needed)) {
      if (!index_.evict()) return false;
    }
    const uint64_t used = num_used();
    sequence.prepare(count);
    EXPECT_LE(num_used(), used + std::reduce(needed.begin(), needed.end()));
    compute(sequence, count);
    const uint64_t before = sequence.cached();
    sequence.commit(count, sequence.size());
    share(sequence, before);
    return true;
  }
  /// A step that is stopped midway.
  void stopped_step(Sequence& sequence, uint32_t count) {
    count = static_cast<uint32_t>(std::min<uint64_t>(count, sequence.num_pending()));
    count = sequence.slice_limit(count);
    try {
      sequence.prepare(count);
    } catch (const Error&) {
      return;
    }
    for (const auto& table : sequence.tables()) {
      if (is_state(*table)) write(*table, table->entries()[1], 0, 0xbad);
    }
    sequence.roll_back();
  }
  /// Adopts the index's blocks for a text; returns the number of positions.
  uint64_t reuse(Sequence& sequence) {
    const uint64_t limit = (sequence.size() - 1) / kBlockTokens;
    const auto keys = sequence.keys(index_, limit);
    const auto match =
        index_.match(sequence.root(), keys, sequence.tokens().first(limit * kBlockTokens));
    const uint64_t before = sequence.cached();
    if (match.num_usable * kBlockTokens <= before) return 0;
    sequence.adopt(index_, keys.first(match.num_usable));
    return sequence.cached() - before;
  }
  [[nodiscard]] uint64_t num_used() const {
    uint64_t used = 0;
    for (const auto& pool : pools_) used += pool->num_used();
    return used;
  }

 private:
  static bool is_state(const CacheTable& table) {
    return table.pool().options().kind == TENON_CACHE_STATE;
  }
  static void write(const CacheTable& table, uint32_t block, uint64_t slot, uint64_t value) {
    std::memcpy(&first_byte(table.pool(), block) + slot * sizeof(value), &value, sizeof(value));
  }
  static uint64_t read(const CacheTable& table, uint32_t block, uint64_t slot) {
    uint64_t value = 0;
    std::memcpy(&value, &first_byte(table.pool(), block) + slot * sizeof(value), sizeof(value));
    return value;
  }

  /// Checks the values that attention and recurrences read, then writes new ones.
  void compute(Sequence& sequence, uint32_t count) {
    const uint64_t past = sequence.cached();
    const std::span<const Token> text = sequence.tokens();
    for (const auto& table : sequence.tables()) {
      const auto entries = table->entries();
      if (is_state(*table)) {
        ASSERT_EQ(entries[0] == BlockPool::kNoBlock, past == 0);
        if (past > 0) {
          ASSERT_EQ(read(*table, entries[0], 0), hash_of(text.first(past)));
        }
        ASSERT_EQ(table->pool().references(entries[1]), 1u);
        write(*table, entries[1], 0, hash_of(text.first(past + count)));
        continue;
      }
      const uint32_t window = table->pool().options().window;
      const uint64_t seen = window == 0 || past < window ? 0 : past - window + 1;
      ASSERT_EQ(entries.size(), (past + count + kBlockTokens - 1) / kBlockTokens);
      for (uint64_t i = seen; i < past; ++i) {
        ASSERT_EQ(read(*table, entries[i / kBlockTokens], i % kBlockTokens),
                  hash_of(text.first(i + 1)))
            << "position " << i << " of " << past << ", window " << window;
      }
      for (uint64_t i = past; i < past + count; ++i) {
        ASSERT_EQ(table->pool().references(entries[i / kBlockTokens]), 1u);
        write(*table, entries[i / kBlockTokens], i % kBlockTokens, hash_of(text.first(i + 1)));
      }
    }
  }
  void share(Sequence& sequence, uint64_t before) {
    const uint64_t full = sequence.cached() / kBlockTokens;
    const auto keys = sequence.keys(index_, full);
    for (uint64_t i = before / kBlockTokens; i < full; ++i) {
      std::vector<uint32_t> blocks;
      for (const auto& table : sequence.tables()) blocks.push_back(table->shared_block(i));
      const auto shared =
          index_.insert(i == 0 ? sequence.root() : keys[i - 1], keys[i], i == 0,
                        sequence.tokens().subspan(i * kBlockTokens, kBlockTokens), blocks);
      if (!shared.empty()) sequence.adopt_same(i, shared);
    }
  }

  FakeSlabs slabs_;
  std::vector<std::shared_ptr<BlockPool>> pools_;
  PrefixIndex index_;
};

BlockPoolOptions group(uint32_t kind) {
  BlockPoolOptions options{.block_bytes = 32, .block_tokens = kBlockTokens, .kind = kind};
  if (kind == TENON_CACHE_WINDOW) options.window = kWindow;
  if (kind == TENON_CACHE_STATE) options.block_bytes = 96;
  options.state_checkpoints = 3;
  options.state_checkpoint_tokens = 8;
  return options;
}

const std::vector<std::vector<BlockPoolOptions>> kModels = {
    {group(TENON_CACHE_FULL)},
    {group(TENON_CACHE_WINDOW)},
    {group(TENON_CACHE_STATE)},
    {group(TENON_CACHE_LATENT)},
    {group(TENON_CACHE_FULL), group(TENON_CACHE_WINDOW)},
    {group(TENON_CACHE_STATE), group(TENON_CACHE_FULL)},
    {group(TENON_CACHE_WINDOW), group(TENON_CACHE_STATE), group(TENON_CACHE_LATENT)},
};

/// Texts over few tokens, so that many share prefixes.
void append(Sequence& sequence, uint64_t count, Random& random) {
  for (uint64_t i = 0; i < count; ++i) {
    const Token token[] = {static_cast<Token>(random.below(8) == 0 ? random.below(3) : 0)};
    sequence.append(token);
  }
}

void do_something(HashModel& model, std::vector<Sequence>& sequences, Random& random) {
  const size_t at = random.below(sequences.size());
  Sequence& sequence = sequences[at];
  switch (random.below(9)) {
    case 0:
      if (sequence.size() > 300) return;
      return append(sequence, 1 + random.below(30), random);
    case 1:
      return sequence.truncate(random.below(sequence.size() + 1));
    case 2:
      return sequence.forget_cached(sequence.cached() - std::min<uint64_t>(1, sequence.cached()));
    case 3: {
      Sequence copy = sequence.fork();
      sequences[random.below(sequences.size())].swap(copy);
      return;
    }
    case 4:
      if (sequence.holds_blocks()) sequence.lose_block();
      return;
    case 5:
      if (sequence.num_pending() > 0) model.stopped_step(sequence, 1 + random.below(9));
      return;
    case 6:
      if (sequence.num_pending() > 1) model.reuse(sequence);
      return;
    case 7:
      return sequence.compact();
    default:
      if (sequence.size() > 300) return sequence.truncate(0);
      for (uint64_t i = random.below(12); i > 0; --i) {
        if (sequence.num_pending() == 0) append(sequence, 1, random);
        const uint64_t count = std::min<uint64_t>(sequence.num_pending(), 1 + random.below(9));
        // Without room, other sequences lose their blocks.
        while (!model.step(sequence, static_cast<uint32_t>(count))) {
          Sequence& other = sequences[random.below(sequences.size())];
          if (&other != &sequence) other.lose(0);
          if (random.below(8) == 0) sequence.lose(0);
        }
      }
  }
}

TEST(Sequences, OfEveryKindFindWhatWasComputedForTheirText) {
  for (size_t kinds = 0; kinds < kModels.size(); ++kinds) {
    for (uint64_t seed = 0; seed < 12 && !testing::Test::HasFatalFailure(); ++seed) {
      SCOPED_TRACE(testing::Message() << "groups " << kinds << ", seed " << seed);
      Random random(seed + 1);
      HashModel model(kModels[kinds], seed % 3 == 0 ? UINT64_MAX : 96 * (60 + seed * 20));
      std::vector<Sequence> sequences;
      for (int i = 0; i < 4; ++i) sequences.push_back(model.sequence());
      for (int i = 0; i < 600 && !testing::Test::HasFatalFailure(); ++i) {
        do_something(model, sequences, random);
        ASSERT_LE(model.pools()[0]->slab_pool()->held_bytes(),
                  model.pools()[0]->slab_pool()->limit_bytes());
      }
      sequences.clear();
      model.index().clear();
      EXPECT_EQ(model.num_used(), 0u);
    }
  }
}

TEST(Sequences, FindTheLastPlaceFromWhichAllGroupsGoOn) {
  for (const auto& groups : kModels) {
    HashModel model(groups, UINT64_MAX);
    Random random(1);
    Sequence first = model.sequence();
    append(first, 30, random);
    const std::vector<Token> text(first.tokens().begin(), first.tokens().end());
    while (first.num_pending() > 0) ASSERT_TRUE(model.step(first, 5));
    Sequence second = model.sequence();
    second.append(text);
    EXPECT_EQ(model.reuse(second), 28u) << "the last whole block, where a state has its checkpoint";
    while (second.num_pending() > 0) ASSERT_TRUE(model.step(second, 5));
    Sequence third = model.sequence();
    third.append(std::span(text).first(22));
    const bool has_state =
        std::ranges::any_of(groups, [](const auto& one) { return one.kind == TENON_CACHE_STATE; });
    EXPECT_EQ(model.reuse(third), has_state ? 16u : 20u) << "every eighth position";
    while (third.num_pending() > 0) ASSERT_TRUE(model.step(third, 5));
  }
}

TEST(Sequences, OfAWindowLeaveTheIndexWhatTheyGiveBack) {
  HashModel model({group(TENON_CACHE_FULL), group(TENON_CACHE_WINDOW)}, UINT64_MAX);
  Random random(1);
  Sequence sequence = model.sequence();
  append(sequence, 80, random);
  while (sequence.num_pending() > 0) ASSERT_TRUE(model.step(sequence, 4));
  sequence.trim();
  EXPECT_EQ(sequence.tables()[1]->num_held(), 3u);
  EXPECT_EQ(model.pools()[1]->num_used(), 20u);
  EXPECT_EQ(model.pools()[1]->num_idle(), 17u);
  EXPECT_EQ(model.pools()[0]->num_idle(), 0u);
  for (int i = 0; i < 17; ++i) EXPECT_TRUE(model.index().evict()) << i;
  EXPECT_FALSE(model.index().evict()) << "the sequence has the rest";
  EXPECT_EQ(model.pools()[1]->num_used(), 3u);
  EXPECT_EQ(model.pools()[0]->num_used(), 20u);
}

TEST(Sequences, TakeBlocksOfTheIndexAgainWhereItLacksThem) {
  HashModel model({group(TENON_CACHE_FULL), group(TENON_CACHE_WINDOW)}, UINT64_MAX);
  Random random(1);
  Sequence first = model.sequence();
  append(first, 41, random);
  const std::vector<Token> text(first.tokens().begin(), first.tokens().end());
  while (first.num_pending() > 0) ASSERT_TRUE(model.step(first, 4));
  first.trim();
  while (model.index().evict()) {
  }
  Sequence second = model.sequence();
  second.append(std::span(text).first(20));
  EXPECT_EQ(model.reuse(second), 0u) << "no window there";
  while (second.num_pending() > 0) ASSERT_TRUE(model.step(second, 4));
  Sequence third = model.sequence();
  third.append(std::span(text).first(19));
  EXPECT_EQ(model.reuse(third), 16u);
  while (third.num_pending() > 0) ASSERT_TRUE(model.step(third, 4));
}

TEST(Sequences, TellWhereASnapshotGoesOn) {
  Random random(1);
  const auto position_of = [&random](const std::vector<BlockPoolOptions>& groups) {
    HashModel model(groups, UINT64_MAX);
    Sequence sequence = model.sequence();
    append(sequence, 30, random);
    while (sequence.num_pending() > 0) EXPECT_TRUE(model.step(sequence, 9));
    return sequence.snapshot_position();
  };
  EXPECT_EQ(position_of({group(TENON_CACHE_FULL)}), 28u);
  EXPECT_EQ(position_of({group(TENON_CACHE_WINDOW)}), 28u);
  EXPECT_EQ(position_of({group(TENON_CACHE_STATE)}), 30u) << "the latest state";
  EXPECT_EQ(position_of({group(TENON_CACHE_STATE), group(TENON_CACHE_FULL)}), 28u);
}

}  // namespace
}  // namespace tenon
