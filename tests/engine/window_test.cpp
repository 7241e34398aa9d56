// Models with windows in the engine: blocks outside all windows are freed, and no answer changes.
#include <gtest/gtest.h>

#include "tests/engine/tiny_engine.h"
#include "tests/engine/tiny_kinds.h"

namespace tenon {
namespace {

constexpr uint32_t kWindow = 40;

class Windows : public testing::Test {
 protected:
  static std::shared_ptr<const Model> load(uint32_t slice) {
    ModelOptions options;
    options.slice = slice;
    options.context = 256;
    return load_tiny(tiny_window(kWindow), std::move(options));
  }
  /// Logits of all rows, computed in one step, so that no block is freed before.
  std::vector<float> in_one_step(std::span<const Token> text) const {
    Session session(Engine::create(whole_));
    return evaluate_all(session, text);
  }
  std::vector<float> last_of(std::span<const Token> text) const {
    const std::vector<float> all = in_one_step(text);
    return {all.end() - 300, all.end()};
  }
  static const BlockPool& window_pool(const Engine& engine) {
    for (const auto& pool : engine.pools()) {
      if (pool->options().kind == TENON_CACHE_WINDOW) return *pool;
    }
    throw std::logic_error("no window");
  }
  static const BlockPool& full_pool(const Engine& engine) {
    for (const auto& pool : engine.pools()) {
      if (pool->options().kind == TENON_CACHE_FULL) return *pool;
    }
    throw std::logic_error("no full group");
  }

  const std::shared_ptr<const Model> whole_ = load(256);
  const std::shared_ptr<const Model> sliced_ = load(16);
  const std::vector<Token> text_ = make_tokens(220);
};

TEST_F(Windows, AreGroupsOfTheirOwn) {
  const auto engine = Engine::create(sliced_);
  ASSERT_EQ(engine->pools().size(), 2u);
  EXPECT_EQ(window_pool(*engine).options().window, kWindow);
  EXPECT_EQ(window_pool(*engine).block_bytes(), 3 * full_pool(*engine).block_bytes());
}

TEST_F(Windows, HoldOnlyWhatIsSeenAndChangeNoBit) {
  const auto engine = Engine::create(sliced_);
  Session session(engine);
  EXPECT_TRUE(same_bits(evaluate_all(session, text_), in_one_step(text_)));
  EXPECT_EQ(full_pool(*engine).num_used(), 7u);
  EXPECT_LE(window_pool(*engine).num_used(), 3u) << "40 positions and a block";
  generate(session, 20);
  EXPECT_LE(window_pool(*engine).num_used(), 4u);
}

TEST_F(Windows, OfOnePositionAreReused) {
  ModelOptions options;
  options.slice = 16;
  options.context = 256;
  const auto model = load_tiny(tiny_window(1), std::move(options));
  EngineOptions shared = unbounded_engine();
  shared.prefix_cache = true;
  const auto engine = Engine::create(model, shared);
  std::vector<float> first;
  for (int time = 0; time < 2; ++time) {
    Session session(engine);
    session.append(text_);
    const std::vector<float> logits = last_logits(session);
    if (time == 0) first = logits;
    EXPECT_TRUE(same_bits(logits, first));
    EXPECT_EQ(session.stats().prefill_tokens < 100, time == 1);
  }
}

TEST_F(Windows, GoBackByATokenByManyAndToTheBeginning) {
  const auto engine = Engine::create(sliced_);
  for (const uint32_t left : {219u, 200u, 190u, 130u, 33u, 1u}) {
    Session session(engine);
    session.append(text_);
    session.prefill();
    session.rewind(left);
    const std::vector<Token> more = make_tokens(9, 5);
    session.append(more);
    std::vector<Token> text(text_.begin(), text_.begin() + left);
    text.insert(text.end(), more.begin(), more.end());
    EXPECT_TRUE(same_bits(last_logits(session), last_of(text))) << left;
    const uint64_t computed = session.stats().prefill_tokens - 220;
    EXPECT_TRUE(left < 190 || computed == 9) << "up to a block further back nothing is lost";
  }
}

TEST_F(Windows, AreSharedByForks) {
  const auto engine = Engine::create(sliced_);
  Session session(engine);
  session.append(text_);
  session.prefill();
  const uint64_t used = window_pool(*engine).num_used();
  const auto fork = session.fork();
  EXPECT_EQ(window_pool(*engine).num_used(), used);
  std::vector<Token> one = text_;
  std::vector<Token> other = text_;
  for (const Token token : make_tokens(35, 7)) one.push_back(token);
  for (const Token token : make_tokens(35, 8)) other.push_back(token);
  session.append(std::span(one).subspan(220));
  fork->append(std::span(other).subspan(220));
  EXPECT_TRUE(same_bits(last_logits(session), last_of(one)));
  EXPECT_TRUE(same_bits(last_logits(*fork), last_of(other)));
}

TEST_F(Windows, GoOnFromTheBeginningsOfOthers) {
  EngineOptions options = unbounded_engine();
  options.prefix_cache = true;
  const auto engine = Engine::create(sliced_, options);
  Session first(engine);
  first.append(text_);
  first.prefill();
  for (const uint32_t shared : {210u, 100u, 64u, 40u}) {
    std::vector<Token> text(text_.begin(), text_.begin() + shared);
    for (const Token token : make_tokens(20, shared)) text.push_back(token);
    Session session(engine);
    session.append(text);
    EXPECT_TRUE(same_bits(last_logits(session), last_of(text))) << shared;
    EXPECT_EQ(session.stats().prefill_tokens, text.size() - shared / 32 * 32) << shared;
  }
}

TEST_F(Windows, GoOnFromSnapshots) {
  const auto engine = Engine::create(sliced_);
  Session session(engine);
  session.append(text_);
  session.prefill();
  std::vector<std::byte> saved;
  session.save([&saved](std::span<const std::byte> part) {
    saved.insert(saved.end(), part.begin(), part.end());
  });
  EXPECT_EQ(saved.size(), session.snapshot_bytes());
  const uint64_t blocks =
      6 * full_pool(*engine).block_bytes() + 2 * window_pool(*engine).block_bytes();
  EXPECT_LT(saved.size(), blocks + 220 * 4 + 1000) << "without what no window sees";
  Session restored(Engine::create(sliced_));
  restored.restore(*ByteSource::from_memory(saved, "snapshot"));
  EXPECT_TRUE(same_bits(last_logits(restored), last_of(text_)));
  EXPECT_EQ(restored.stats().prefill_tokens, 220u - 192u);
}

TEST_F(Windows, OfSnapshotsWithoutRoomAreComputedAgain) {
  const auto engine = Engine::create(sliced_);
  Session session(engine);
  session.append(text_);
  session.prefill();
  std::vector<std::byte> saved;
  session.save([&saved](std::span<const std::byte> part) {
    saved.insert(saved.end(), part.begin(), part.end());
  });
  EngineOptions narrow = unbounded_engine();
  narrow.cache_bytes = 9 * window_pool(*engine).block_bytes();
  const auto small = Engine::create(sliced_, narrow);
  GenerationOptions limits;
  limits.max_tokens = 30;
  limits.ends.ignore_end = true;
  Session other(small);
  other.append(make_tokens(180, 9));
  const auto generation = other.submit(greedy_sampler(), limits);
  for (int i = 0; i < 14; ++i) small->step();
  Session restored(small);
  restored.restore(*ByteSource::from_memory(saved, "snapshot"));
  EXPECT_LE(small->metrics().kv_held_bytes, small->metrics().kv_limit_bytes);
  EXPECT_TRUE(same_bits(last_logits(restored), last_of(text_)));
  while (!generation->ended) small->step();
}

TEST_F(Windows, GiveMemoryToOtherGroupsAndGetItBack) {
  EngineOptions narrow = unbounded_engine();
  const uint64_t slab = window_pool(*Engine::create(sliced_)).block_bytes();
  narrow.cache_bytes = 8 * slab;
  const auto engine = Engine::create(sliced_, narrow);
  ASSERT_EQ(engine->pools()[0]->slab_pool()->slab_bytes(), slab);
  for (int round = 0; round < 3; ++round) {
    {
      std::vector<std::unique_ptr<Session>> short_ones;  // as much of a window as of all
      for (uint32_t i = 0; i < 6; ++i) {
        short_ones.push_back(std::make_unique<Session>(engine));
        short_ones.back()->append(make_tokens(30, i));
        short_ones.back()->prefill();
      }
      EXPECT_EQ(window_pool(*engine).num_used(), 6u);
    }
    Session session(engine);
    session.append(text_);
    EXPECT_TRUE(same_bits(last_logits(session), last_of(text_))) << round;
    EXPECT_EQ(full_pool(*engine).num_used(), 7u);
    EXPECT_LE(engine->metrics().kv_held_bytes, narrow.cache_bytes);
  }
  EXPECT_EQ(engine->metrics().kv_held_bytes, full_pool(*engine).slab_pool()->slab_bytes())
      << "but for one slab all went back to the device";
}

}  // namespace
}  // namespace tenon
