// Idle sessions: their blocks serve other requests and are recomputed unnoticed.
#include "engine/idle_sequences.h"

#include <gtest/gtest.h>

#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

class Idle : public testing::Test {
 protected:
  /// Room for `blocks` blocks of 32 positions.
  std::shared_ptr<Engine> engine(uint64_t blocks, bool prefix_cache = false) const {
    EngineOptions options = unbounded_engine();
    options.cache_bytes = blocks * Engine::create(model_)->pools()[0]->block_bytes();
    options.prefix_cache = prefix_cache;
    return Engine::create(model_, options);
  }
  std::unique_ptr<Session> over(const std::shared_ptr<Engine>& engine,
                                std::span<const Token> text) const {
    auto session = std::make_unique<Session>(engine, SessionOptions{128});
    session->append(text);
    session->prefill();
    return session;
  }
  std::vector<Token> alone(std::span<const Token> text, uint32_t count) const {
    return generate(*over(Engine::create(model_), text), count);
  }
  const std::shared_ptr<const Model> model_ = load_tiny();
};

TEST_F(Idle, GiveWayToSessionsThatComputeAndGoOnAsBefore) {
  const auto small = engine(3);
  std::vector<std::unique_ptr<Session>> sessions;
  for (uint32_t i = 0; i < 4; ++i) sessions.push_back(over(small, make_tokens(70, i)));
  for (uint32_t round = 0; round < 2; ++round) {
    for (uint32_t i = 0; i < 4; ++i) {
      const std::vector<Token> expected = alone(make_tokens(70, i), 6);
      EXPECT_EQ(generate(*sessions[i], 3),
                std::vector<Token>(expected.begin() + 3 * round, expected.begin() + 3 * round + 3))
          << i << ", round " << round;
    }
  }
  const EngineMetrics metrics = small->metrics();
  EXPECT_GT(metrics.idle_blocks_taken_total, 0u);
  EXPECT_LE(metrics.kv_held_bytes, metrics.kv_limit_bytes);
}

TEST_F(Idle, LoseTheirEndsFirstAndNoMoreThanIsNeeded) {
  const auto small = engine(4);
  const auto first = over(small, make_tokens(90, 1));   // three blocks
  const auto second = over(small, make_tokens(30, 2));  // one
  // Takes a block of the least recently used session.
  const auto third = over(small, make_tokens(30, 3));
  EXPECT_EQ(small->metrics().idle_blocks_taken_total, 1u);
  const uint64_t before = first->stats().prefill_tokens;
  first->prefill();
  EXPECT_EQ(first->stats().prefill_tokens - before, 90u - 64u)
      << "what is left is not computed again";
  EXPECT_EQ(generate(*first, 4), alone(make_tokens(90, 1), 4));
}

TEST_F(Idle, ForksAndRewoundTextsGoOnBitByBit) {
  const auto small = engine(3);
  const std::vector<Token> text = make_tokens(80);
  const auto session = over(small, text);
  const auto fork = session->fork();
  const auto disturb = [&] { over(small, make_tokens(90, 9)); };
  disturb();
  EXPECT_EQ(small->pools()[0]->num_used(), 0u) << "shared blocks are given up by all";
  EXPECT_EQ(generate(*fork, 5), alone(text, 5));
  disturb();
  session->rewind(50);
  disturb();
  session->append(make_tokens(10, 4));
  std::vector<Token> other(text.begin(), text.begin() + 50);
  const std::vector<Token> more = make_tokens(10, 4);
  other.insert(other.end(), more.begin(), more.end());
  EXPECT_TRUE(same_bits(session->logits(), over(Engine::create(model_), other)->logits()));
}

TEST_F(Idle, AreSessionsInACallback) {
  const auto small = engine(4);
  ASSERT_GT(model_->program().view().max_tokens, 100u);
  const std::vector<Token> text = make_tokens(100);
  const std::vector<float> expected = evaluate_all(*over(Engine::create(model_), {{1}}), text);
  Session session(small);
  session.append({{1}});
  std::vector<float> rows;
  uint32_t others = 0;
  session.evaluate(text, [&](uint64_t row, std::span<const float> logits) {
    rows.insert(rows.end(), logits.begin(), logits.end());
    if (row % 40 == 0)
      others += static_cast<uint32_t>(generate(*over(small, make_tokens(99, 5)), 1).size());
    return true;
  });
  EXPECT_EQ(others, 3u);
  EXPECT_TRUE(same_bits(rows, expected));
}

TEST_F(Idle, ReportWhatWasTakenFromThem) {
  const auto small = engine(3);
  const auto session = over(small, make_tokens(80));
  over(small, make_tokens(60, 2));
  GenerationOptions options;
  options.max_tokens = 2;
  options.ends.ignore_end = true;
  const auto generation = session->submit(greedy_sampler(), options);
  while (!generation->ended) small->step();
  const ReuseReport report = small->report(*generation);
  EXPECT_EQ(report.prompt_tokens, 80u);
  EXPECT_EQ(report.reused_tokens, 32u);
  EXPECT_EQ(report.miss.cause, PrefixMiss::Cause::Evicted);
  EXPECT_EQ(report.miss.position, 32u);
  EXPECT_EQ(std::vector<Token>(session->tokens().begin() + 80, session->tokens().end()),
            alone(make_tokens(80), 2));
}

TEST_F(Idle, OfTheSharedPrefixKeepWhatTheIndexHas) {
  const auto small = engine(4, true);
  const std::vector<Token> text = make_tokens(70);
  const auto session = over(small, text);
  over(small, make_tokens(120, 2));
  EXPECT_EQ(generate(*session, 4), alone(text, 4));
}

TEST_F(Idle, DoNotMakeRoomForWhatNeverFits) {
  const auto small = engine(2);
  const auto session = over(small, make_tokens(60));
  Session large(small);
  large.append(make_tokens(100, 2));
  EXPECT_THROW(large.prefill(), Error);
  EXPECT_EQ(small->metrics().idle_blocks_taken_total, 0u);
}

}  // namespace
}  // namespace tenon
