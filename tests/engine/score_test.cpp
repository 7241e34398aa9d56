// Scores of continuations: the bits of teacher forcing in few steps, with any neighbours and little
// memory.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

using Texts = std::vector<std::vector<Token>>;

/// Scores, initialised to NaN, one per token.
std::vector<std::vector<float>> score(Session& session, const Texts& texts,
                                      uint64_t deadline_ns = UINT64_MAX) {
  std::vector<std::vector<float>> scores;
  std::vector<Continuation> asked;
  for (const std::vector<Token>& text : texts) {
    scores.emplace_back(text.size(), std::numeric_limits<float>::quiet_NaN());
  }
  for (size_t i = 0; i < texts.size(); ++i) asked.push_back({texts[i], scores[i].data()});
  session.score(asked, deadline_ns);
  return scores;
}

class Score : public testing::Test {
 protected:
  std::unique_ptr<Session> over(const std::shared_ptr<Engine>& engine) const {
    auto session = std::make_unique<Session>(engine);
    session->append(prompt_);
    return session;
  }
  void expect_forced(const Texts& texts, const std::vector<std::vector<float>>& scores) const {
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_TRUE(same_bits(scores[i], forced_logprobs(model_, prompt_, texts[i]))) << i;
    }
  }
  [[nodiscard]] Code code_of(Session& session, const Texts& texts) const {
    try {
      score(session, texts);
    } catch (const Error& error) {
      return error.code();
    }
    return Code::Internal;
  }

  std::shared_ptr<const Model> model_ = load_tiny();
  std::vector<Token> prompt_ = make_tokens(45);
  /// Two equal texts, a prefix of another, branches at three depths, single tokens.
  Texts texts_ = {{7, 8, 9},       {7, 8, 9}, {7, 8}, {7, 8, 9, 10, 11}, {7, 30, 31},
                  {7, 30, 40, 41}, {5},       {6},    make_tokens(50, 9)};
};

TEST_F(Score, ErrorsLeaveTheSessionAsItWas) {
  const auto session = over(Engine::create(model_));
  const uint64_t context = session->context();
  EXPECT_EQ(code_of(*session, {{1}, {}}), Code::Argument);
  EXPECT_EQ(code_of(*session, {{1, 2}, {3, -1}}), Code::Argument);
  EXPECT_EQ(code_of(*session, {{1, 1 << 20}}), Code::Argument);
  const auto too_long = static_cast<uint32_t>(context - prompt_.size() + 1);
  EXPECT_EQ(code_of(*session, {{1}, make_tokens(too_long)}), Code::Limit);
  Session empty(session->engine());
  EXPECT_EQ(code_of(empty, {{1}}), Code::State);
  try {
    score(*session, texts_, 1);
    FAIL() << "the deadline has passed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::Deadline);
  }
  session->cancel();
  EXPECT_EQ(code_of(*session, texts_), Code::Cancelled);
  EXPECT_EQ(session->position(), prompt_.size());
  expect_forced(texts_, score(*session, texts_));
  expect_forced({make_tokens(too_long - 1)}, score(*session, {make_tokens(too_long - 1)}));
}

TEST_F(Score, IsTeacherForcingAndChangesNothing) {
  const auto session = over(Engine::create(model_));
  const auto other = over(Engine::create(model_));
  EXPECT_TRUE(score(*session, {}).empty());
  expect_forced(texts_, score(*session, texts_));
  expect_forced(texts_, score(*session, texts_));
  EXPECT_EQ(session->position(), prompt_.size());
  EXPECT_EQ(generate(*session, 6), generate(*other, 6));
}

TEST_F(Score, ComputesSharedBeginningsOnceAndInFewSteps) {
  const auto engine = Engine::create(model_);
  const auto session = over(engine);
  session->prefill();
  const uint64_t steps = engine->metrics().steps_total;
  (void)score(*session, {{5}, {6}, {7}});
  EXPECT_EQ(engine->metrics().steps_total, steps) << "first tokens are in the text's row";
  Texts flat;
  for (Token i = 0; i < 20; ++i) flat.push_back({i, 1, 2, 3});
  (void)score(*session, flat);
  EXPECT_EQ(engine->metrics().steps_total, steps + 1);
  const uint64_t before = session->stats().prefill_tokens;
  // Computes 7 8 | 9 10 and 7 | 30 | 40: never a continuation's last token.
  (void)score(*session, {{7, 8, 9}, {7, 8, 9, 10, 11}, {7, 30, 31}, {7, 30, 40, 41}});
  EXPECT_EQ(session->stats().prefill_tokens - before, 6u);
  EXPECT_LE(engine->metrics().steps_total, steps + 1 + 3);
}

TEST_F(Score, LongOnesAreComputedInParts) {
  ModelOptions small;
  small.slice = 16;
  model_ = load_tiny({}, std::move(small));
  Texts texts = {make_tokens(70, 2), make_tokens(33, 3)};
  texts.push_back(texts[0]);
  texts.back().resize(40);
  texts.back().push_back(1);
  expect_forced(texts, score(*over(Engine::create(model_)), texts));
}

TEST_F(Score, KeepsToTheBudget) {
  const uint64_t block = Engine::create(model_)->pools()[0]->block_bytes();
  Texts many;
  for (uint32_t i = 0; i < 12; ++i) many.push_back(make_tokens(20, i));
  for (const uint64_t blocks : {3u, 4u, 6u}) {
    EngineOptions narrow = unbounded_engine();
    narrow.cache_bytes = blocks * block;
    const auto engine = Engine::create(model_, narrow);
    const auto session = over(engine);
    expect_forced(many, score(*session, many));
    EXPECT_LE(engine->metrics().kv_held_bytes, narrow.cache_bytes);
    EXPECT_TRUE(same_bits(last_logits(*session), last_logits(*over(Engine::create(model_)))));
  }
  EngineOptions none = unbounded_engine();
  none.cache_bytes = 2 * block;
  const auto engine = Engine::create(model_, none);
  const auto session = over(engine);
  EXPECT_EQ(code_of(*session, {make_tokens(30)}), Code::NoMemory);
  EXPECT_LE(engine->metrics().kv_held_bytes, none.cache_bytes);
  expect_forced({{5}, {6, 7}}, score(*session, {{5}, {6, 7}}));
}

TEST_F(Score, GivesTheSameBitsInCompany) {
  EngineOptions options = unbounded_engine();
  options.prefix_cache = true;
  const auto engine = Engine::create(model_, options);
  const auto alone = score(*over(engine), texts_);
  expect_forced(texts_, alone);
  std::atomic<bool> is_over{false};
  std::vector<std::thread> others;
  for (uint32_t i = 0; i < 2; ++i) {
    others.emplace_back([&, i] {
      for (uint32_t round = 0; !is_over; ++round) {
        Session other(engine);
        other.append(make_tokens(20 + round % 30, i));
        (void)generate(other, 5);
      }
    });
  }
  for (int round = 0; round < 5; ++round) {
    const auto scores = score(*over(engine), texts_);
    for (size_t i = 0; i < texts_.size(); ++i) EXPECT_TRUE(same_bits(scores[i], alone[i])) << i;
  }
  is_over = true;
  for (std::thread& other : others) other.join();
}

TEST_F(Score, EndsSoonWhenItIsCancelled) {
  Texts many;
  for (uint32_t i = 0; i < 400; ++i) many.push_back(make_tokens(100, i));
  const auto session = over(Engine::create(model_));
  session->prefill();
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    session->cancel();
  });
  EXPECT_EQ(code_of(*session, many), Code::Cancelled);
  canceller.join();
  EXPECT_EQ(session->position(), prompt_.size());
  expect_forced(texts_, score(*session, texts_));
}

}  // namespace
}  // namespace tenon
