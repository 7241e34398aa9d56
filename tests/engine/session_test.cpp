// Sessions: appending, generating, reading logits, forking, rewinding, and refusals.
#include "engine/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/base/expect_error.h"
#include "tests/engine/random_tiny.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::ElementsAreArray;
using testing::HasSubstr;

class Sessions : public testing::Test {
 protected:
  /// Opens a session on the shared engine.
  [[nodiscard]] std::unique_ptr<Session> open(uint32_t context = 128) const {
    return std::make_unique<Session>(engine_, SessionOptions{context});
  }
  /// A session that has computed `tokens`.
  [[nodiscard]] std::unique_ptr<Session> over(std::span<const Token> tokens) const {
    auto session = open();
    session->append(tokens);
    session->prefill();
    return session;
  }
  [[nodiscard]] uint64_t blocks_used() const { return engine_->pools()[0]->num_used(); }

  const std::shared_ptr<Engine> engine_ = tiny_engine({}, slices_of(16));
  const std::vector<Token> prompt_ = make_tokens(40);

 private:
  static ModelOptions slices_of(uint32_t slice) {
    ModelOptions options;
    options.slice = slice;
    return options;
  }
};

TEST_F(Sessions, TellTheirPositionContextAndTokens) {
  const auto session = open(100);
  EXPECT_EQ(session->position(), 0u);
  EXPECT_EQ(session->context(), 100u);
  session->append(prompt_);
  EXPECT_EQ(session->position(), 40u);
  EXPECT_THAT(session->tokens(), ElementsAreArray(prompt_));
  const std::vector<Token> more = generate(*session, 3);
  EXPECT_EQ(session->position(), 43u);
  EXPECT_THAT(session->tokens().subspan(40), ElementsAreArray(more));
}

TEST_F(Sessions, TakeTheModelsContextByDefault) {
  EXPECT_EQ(Session(engine_).context(), 256u);
  ModelOptions options;
  options.context = 77;
  EXPECT_EQ(Session(tiny_engine({}, std::move(options))).context(), 77u);
}

TEST_F(Sessions, NextTakesTheMostLikelyTokenOfTheLogits) {
  const auto session = over(prompt_);
  const std::vector<float> row = last_logits(*session);
  const auto best = std::max_element(row.begin(), row.end()) - row.begin();
  EXPECT_EQ(generate(*session, 1).front(), best);
}

TEST_F(Sessions, TextIsTheSameAsItsTokens) {
  const auto session = open();
  session->append("a b c", {.add_special = true, .parse_special = false});
  EXPECT_THAT(session->tokens(),
              ElementsAreArray(engine_->model().tokenizer()->encode("a b c", {true, false})));
}

TEST_F(Sessions, GenerateTheSameTextWhereverThePromptIsCut) {
  const std::vector<Token> expected = generate(*over(prompt_), 12);
  const auto session = open();
  for (const Token token : prompt_) session->append({&token, 1});
  EXPECT_EQ(generate(*session, 12), expected);
}

TEST_F(Sessions, LogitsAfterEveryTokenEndWithTheLast) {
  const auto session = open();
  const std::vector<float> all = evaluate_all(*session, prompt_);
  ASSERT_EQ(all.size(), size_t{40} * 300);
  EXPECT_TRUE(same_bits(std::span(all).last(300), session->logits()));
  EXPECT_TRUE(same_bits(last_logits(*over(prompt_)), session->logits()));
}

TEST_F(Sessions, AnEmptyTextHasNoLogits) {
  const auto session = open();
  session->append(std::span<const Token>());
  session->append("", {});
  session->prefill();
  expect_error(Code::State, HasSubstr("no tokens"), [&] { (void)session->logits(); });
  expect_error(Code::State, HasSubstr("no tokens"), [&] { generate(*session, 1); });
  EXPECT_EQ(session->position(), 0u);
  EXPECT_TRUE(evaluate_all(*session, {}).empty());
  session->append(prompt_);
  EXPECT_EQ(generate(*session, 2), generate(*over(prompt_), 2));
}

TEST_F(Sessions, RefuseTokensOutsideTheVocabulary) {
  const auto session = over(prompt_);
  const std::vector<float> before = last_logits(*session);
  for (const Token bad : {-1, 300, std::numeric_limits<Token>::min(), 2147483647}) {
    const Token tokens[] = {5, bad};
    const auto message =
        AllOf(HasSubstr(std::to_string(bad)), HasSubstr("index 1"), HasSubstr("0..299"));
    expect_error(Code::Argument, message, [&] { session->append(tokens); });
    expect_error(Code::Argument, message, [&] { evaluate_all(*session, tokens); });
    EXPECT_EQ(session->position(), 40u) << "nothing is queued";
  }
  EXPECT_TRUE(same_bits(session->logits(), before));
}

TEST_F(Sessions, SayBothNumbersWhenTheContextIsFull) {
  const auto session = open(48);
  session->append(prompt_);
  expect_error(Code::Limit, HasSubstr("tokens 49 > context 48"),
               [&] { session->append(std::span(prompt_).first(9)); });
  EXPECT_EQ(session->position(), 40u);
  generate(*session, 8);
  expect_error(Code::Limit, HasSubstr("tokens 49 > context 48"), [&] { generate(*session, 1); });
  EXPECT_EQ(session->logits().size(), 300u) << "the last place can be filled and read";
  session->rewind(44);
  EXPECT_EQ(generate(*session, 4).size(), 4u);
}

TEST_F(Sessions, AContextOfOneHoldsOneToken) {
  const auto session = open(1);
  session->append(std::span(prompt_).first(1));
  EXPECT_EQ(session->logits().size(), 300u);
  expect_error(Code::Limit, HasSubstr("tokens 2 > context 1"), [&] { generate(*session, 1); });
}

TEST_F(Sessions, RefuseContextsBeyondWhatPositionsCount) {
  expect_error(Code::Argument, HasSubstr("2147483648"), [&] { (void)open(0x80000000u); });
}

TEST(SessionsOfLearnedPositions, RefuseContextsBeyondTheTable) {
  const auto engine = Engine::create(load_random_tiny("gpt2", 16));
  EXPECT_EQ(Session(engine, SessionOptions{4096}).context(), 4096u);
  expect_error(Code::Limit, AllOf(HasSubstr("context is 4097"), HasSubstr("4096 positions")),
               [&] { Session(engine, SessionOptions{4097}); });
}

TEST_F(Sessions, RewindThenContinueLikeAFreshSession) {
  const auto session = over(prompt_);
  generate(*session, 20);
  for (const uint64_t position : {40u, 33u, 32u, 31u, 1u}) {
    session->rewind(position);
    EXPECT_EQ(session->position(), position);
    const auto kept = std::span(prompt_).first(position);
    EXPECT_TRUE(same_bits(session->logits(), last_logits(*over(kept)))) << position;
    EXPECT_EQ(generate(*session, 5), generate(*over(kept), 5)) << position;
    session->rewind(position);
  }
  session->rewind(0);
  expect_error(Code::State, HasSubstr("no tokens"), [&] { (void)session->logits(); });
  expect_error(Code::Argument, AllOf(HasSubstr("rewind to 1"), HasSubstr("0 tokens")),
               [&] { session->rewind(1); });
}

TEST_F(Sessions, RewindOfQueuedTokensForgetsThemUncomputed) {
  const auto session = over(prompt_);
  session->append(make_tokens(30, 9));
  session->rewind(40);
  EXPECT_TRUE(same_bits(session->logits(), last_logits(*over(prompt_))));
  EXPECT_EQ(session->stats().prefill_tokens, 40u);
}

TEST_F(Sessions, ForksGoSeparateWays) {
  const auto session = over(prompt_);
  const auto copy = session->fork();
  EXPECT_THAT(copy->tokens(), ElementsAreArray(prompt_));
  EXPECT_TRUE(same_bits(session->logits(), last_logits(*copy)));
  const std::vector<Token> expected = generate(*over(prompt_), 10);
  evaluate_all(*session, make_tokens(10, 3));
  EXPECT_EQ(generate(*copy, 10), expected);
  session->rewind(40);
  EXPECT_EQ(generate(*session, 10), expected);
}

TEST_F(Sessions, ForksCarryQueuedTokens) {
  const auto session = open();
  session->append(prompt_);
  const auto copy = session->fork();
  EXPECT_EQ(generate(*copy, 3), generate(*session, 3));
}

TEST_F(Sessions, ForksShareBlocksAndCopyOnWrite) {
  const auto session = over(prompt_);  // one full block of 32 and one of 8
  ASSERT_EQ(blocks_used(), 2u);
  {
    const auto copy = session->fork();
    EXPECT_EQ(blocks_used(), 2u) << "nothing is copied yet";
    generate(*copy, 2);
    EXPECT_EQ(blocks_used(), 3u) << "only the block that is written is copied";
    generate(*session, 2);
    EXPECT_EQ(blocks_used(), 3u) << "the original is alone with its own now";
  }
  EXPECT_EQ(blocks_used(), 2u);
}

TEST_F(Sessions, GiveTheirBlocksBack) {
  {
    const auto session = over(make_tokens(100));
    EXPECT_EQ(blocks_used(), 4u);
    session->rewind(64);
    EXPECT_EQ(blocks_used(), 2u);
  }
  EXPECT_EQ(blocks_used(), 0u);
}

TEST_F(Sessions, CountWhatTheyCompute) {
  const auto session = over(prompt_);
  EXPECT_EQ(session->stats().prefill_tokens, 40u);
  EXPECT_EQ(session->stats().decode_tokens, 0u);
  generate(*session, 5);  // the last token is drawn but not computed
  EXPECT_EQ(session->stats().prefill_tokens, 40u);
  EXPECT_EQ(session->stats().decode_tokens, 4u);
  EXPECT_GT(session->stats().prefill_ns, 0u);
  EXPECT_GT(session->stats().decode_ns, 0u);
  EXPECT_EQ(session->fork()->stats().prefill_tokens, 0u);
}

TEST_F(Sessions, ProgressOfAPromptRisesToOne) {
  const auto session = open();
  session->append(prompt_);  // slices of 16: 16, 16, 8
  std::vector<double> seen;
  session->prefill([&seen](double fraction) {
    seen.push_back(fraction);
    return true;
  });
  EXPECT_THAT(seen, testing::ElementsAre(16.0 / 40, 32.0 / 40, 1.0));
}

TEST_F(Sessions, OutliveTheirModelAndEngineHandles) {
  auto engine = tiny_engine();
  Session session(engine);
  engine.reset();
  session.append(prompt_);
  EXPECT_EQ(generate(session, 2).size(), 2u);
}

TEST(SessionsOfReference, GenerateWhatTheCpuGenerates) {
  TinyModel tiny;
  tiny.formats = {Format::F32};
  std::vector<std::vector<Token>> texts;
  for (const char* backend : {"cpu", "reference"}) {
    ModelOptions options;
    options.backend = backend;
    options.cache_type = CacheType::F32;
    Session session(tiny_engine(tiny, std::move(options)));
    session.append(make_tokens(40));
    texts.push_back(generate(session, 8));
    EXPECT_EQ(session.model().backend_name(), backend);
  }
  EXPECT_EQ(texts[0], texts[1]);
}

}  // namespace
}  // namespace tenon
