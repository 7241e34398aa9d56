// Ended answers: kept within their budget, found again, and only by texts of an equal salt.
#include "engine/ended_answers.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/answers.h"

namespace tenon {
namespace {

std::vector<Token> guessed_from(const EndedAnswers& answers, std::string_view salt,
                                std::span<const Token> text) {
  AnswersDrafter drafter(answers.of(salt));
  std::vector<Token> tokens(Drafter::kMostGuesses);
  std::vector<float> claims(Drafter::kMostGuesses);
  tokens.resize(drafter.propose(text, tokens, claims));
  return tokens;
}

TEST(EndedAnswers, AreFoundUnderTheirSaltAlone) {
  EndedAnswers answers(1 << 20);
  const std::vector<Token> said = make_tokens(40, 3);
  answers.add("a", said);
  const std::vector<Token> text(said.begin() + 4, said.begin() + 10);
  const std::vector<Token> expected(said.begin() + 10, said.begin() + 26);
  EXPECT_EQ(guessed_from(answers, "a", text), expected);
  EXPECT_TRUE(guessed_from(answers, "b", text).empty());
  EXPECT_TRUE(guessed_from(answers, "", text).empty());
  EXPECT_TRUE(guessed_from(answers, "a", make_tokens(9, 8)).empty());
}

TEST(EndedAnswers, StayWithinTheirBudget) {
  const uint64_t of_one = Prediction::bytes_of(100);
  EndedAnswers answers(3 * of_one + 1000);
  for (uint32_t i = 0; i < 20; ++i) {
    answers.add("a", make_tokens(100, i));
    EXPECT_LE(answers.bytes(), 3 * of_one + 1000);
  }
  EXPECT_GE(answers.bytes(), 3 * of_one);
  EXPECT_EQ(answers.of("a").size(), 3U);
  for (uint32_t i = 0; i < 20; ++i) {
    const std::vector<Token> said = make_tokens(100, i);
    EXPECT_EQ(guessed_from(answers, "a", std::span(said).first(9)).empty(), i < 17) << i;
  }
  // Too large, too short: not kept.
  answers.add("a", make_tokens(100'000, 1));
  answers.add("a", make_tokens(5, 1));
  EXPECT_EQ(answers.of("a").size(), 3U);
  EndedAnswers none(0);
  none.add("a", make_tokens(100, 1));
  EXPECT_EQ(none.bytes(), 0U);
}

TEST(EndedAnswers, SaidAgainAreKeptOnce) {
  EndedAnswers answers(1 << 20);
  answers.add("a", make_tokens(40, 1));
  answers.add("a", make_tokens(40, 2));
  const uint64_t bytes = answers.bytes();
  answers.add("a", make_tokens(40, 1));
  EXPECT_EQ(answers.bytes(), bytes);
  const auto latest = answers.of("a").front().lock();
  EXPECT_TRUE(std::ranges::equal(latest->tokens(), make_tokens(40, 1)));
}

TEST(EndedAnswers, ThatMakeRoomAreNotHeldByTexts) {
  EndedAnswers answers(Prediction::bytes_of(100) + 1000);
  const std::vector<Token> said = make_tokens(100, 1);
  answers.add("a", said);
  AnswersDrafter drafter(answers.of("a"));
  const auto weak = answers.of("a").front();
  answers.add("b", make_tokens(100, 2));
  EXPECT_TRUE(weak.expired());
  std::vector<Token> tokens(4);
  std::vector<float> claims(4);
  EXPECT_EQ(drafter.propose(std::span(said).first(9), tokens, claims), 0U);
}

TEST(EndedAnswers, GuessTheNextRequestsOfTheirSalt) {
  ModelOptions model_options;
  model_options.slice = 64;
  model_options.threads = 1;
  const auto model = load_tiny({}, std::move(model_options));
  const auto engine_with = [&](Speculation speculation) {
    EngineOptions options = unbounded_engine();
    options.speculation = speculation;
    options.answer_bytes = 1 << 20;
    return Engine::create(model, options);
  };
  const auto ask = [](const std::shared_ptr<Engine>& engine, const char* salt) {
    SessionOptions session_options;
    session_options.context = 256;
    session_options.salt = salt;
    Session session(engine, session_options);
    session.append(make_tokens(30, 5, 250));
    Sampler sampler;
    sampler.set("seed", int64_t{5});
    sampler.set("temperature", 1.2);
    const auto generation = session.submit(sampler, limits(120));
    WholeAnswer answer = whole_answer(*engine, *generation);
    const uint64_t by_answers = generation->accepted_by[static_cast<size_t>(DraftSource::Answers)];
    return std::pair(std::move(answer), by_answers);
  };
  const WholeAnswer expected = ask(engine_with(Speculation::Off), "a").first;
  const auto engine = engine_with(Speculation::Forced);
  const auto first = ask(engine, "a");
  EXPECT_EQ(first.first, expected);
  EXPECT_EQ(first.second, 0U);
  const auto other = ask(engine, "b");
  EXPECT_EQ(other.first, expected);
  EXPECT_EQ(other.second, 0U) << "another salt";
  const auto second = ask(engine, "a");
  EXPECT_EQ(second.first, expected);
  EXPECT_GT(second.second, 60U);
  EXPECT_GT(engine->metrics().answer_bytes, 0U);
}

}  // namespace
}  // namespace tenon
