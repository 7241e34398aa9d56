// Long draws: other requests continue, and cancelled or expired draws end.
#include "engine/draw_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/base/expect_error.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

using testing::HasSubstr;

constexpr uint32_t kVocabulary = 30'000;

/// Bytes, then synthetic words.
std::shared_ptr<const grammar::TokenSet> words() {
  std::mt19937 random(1);
  std::vector<std::string> texts{""};
  for (int b = 0; b < 256; ++b) texts.emplace_back(1, static_cast<char>(b));
  while (texts.size() < kVocabulary) {
    texts.emplace_back();
    for (size_t i = 2 + random() % 9; i > 0; --i)
      texts.back() += static_cast<char>('a' + random() % 26);
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return std::make_shared<const grammar::TokenSet>(views, std::vector<Token>{0});
}

/// A sampler whose grammar has a first mask beyond every bound.
Sampler hostile_sampler(const std::shared_ptr<const grammar::TokenSet>& tokens) {
  std::string text = "root ::= \".\" r0\n";
  const auto name = [](size_t i) { return "r" + std::to_string(i % 1000); };
  for (size_t i = 0; i < 1000; ++i) {
    text +=
        name(i) + " ::= [a-z] " + name(i * 7 + 1) + " | [a-m] " + name(i * 13 + 5) + " | \".\"\n";
  }
  Sampler sampler = greedy_sampler();
  auto matcher = std::make_unique<GrammarMatcher>(std::make_shared<const grammar::TokenMasks>(
      Grammar::compile(GrammarKind::Gbnf, text), tokens));
  matcher->accept(static_cast<Token>('.') + 1);
  sampler.set_grammar(std::move(matcher));
  return sampler;
}

std::vector<Token> finish_watched(Engine& engine, Generation& generation) {
  std::vector<Token> out;
  for (;;) {
    EXPECT_TRUE(engine.wait(generation, UINT64_MAX));
    const Engine::Fetched fetched = engine.fetch(generation);
    if (fetched.failure) std::rethrow_exception(fetched.failure);
    if (fetched.ended) return out;
    out.push_back(fetched.token);
  }
}

TEST(LongDraws, EndWithLimitOneInAStepWhileOthersGoOn) {
  TinyModel tiny;
  tiny.vocab = kVocabulary;
  tiny.distinct_rows = 64;
  const auto model = load_tiny(tiny);
  const auto engine = Engine::create(model);
  const auto tokens = words();
  const std::vector<Token> prompt = make_tokens(9);

  Session alone(Engine::create(model));
  alone.append(prompt);
  const std::vector<Token> expected = generate(alone, 12);

  constexpr size_t kHostile = 4;
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::shared_ptr<Generation>> hostile;
  for (size_t i = 0; i < kHostile; ++i) {
    sessions.push_back(std::make_unique<Session>(engine));
    sessions.back()->append(prompt);
    hostile.push_back(sessions.back()->submit(hostile_sampler(tokens), limits(12)));
  }
  Session session(engine);
  session.append(prompt);
  const auto neighbour = session.submit(greedy_sampler(), limits(12));

  const auto num_ended = [&] {
    return std::ranges::count_if(hostile, [](const auto& one) { return one->ended; });
  };
  for (auto before = num_ended(); engine->step(); before = num_ended()) {
    EXPECT_LE(num_ended() - before, LongDraws::kInAStep);
  }
  EXPECT_EQ(finish_watched(*engine, *neighbour), expected);
  for (const auto& one : hostile) {
    expect_error(Code::Limit, HasSubstr("grammar: "), [&] { finish_watched(*engine, *one); });
  }
}

TEST(DrawWatch, EndsWhatIsCancelledOrLate) {
  const auto system = System::real();
  uint32_t cancel = 0;
  const uint32_t stop = 0;
  LongDraws others;
  Request request;
  request.cancel = &cancel;
  DrawWatch watch(request, others, *system, &stop);
  EXPECT_NO_THROW(watch.look());
  cancel = 1;
  expect_error(Code::Cancelled, HasSubstr("cancelled"), [&] { watch.look(); });
  cancel = 0;
  request.deadline_ns = system->now_ns();
  expect_error(Code::Deadline, HasSubstr("deadline"), [&] { watch.look(); });
}

TEST(DrawWatch, PutsOffWhatTakesLongBesideAnother) {
  const auto system = System::real();
  uint32_t stop = 0;
  LongDraws others;
  others.num_left = 1;
  const Request request;
  DrawWatch first(request, others, *system, &stop), second(request, others, *system, &stop);
  for (int i = 0; i < 100; ++i) EXPECT_NO_THROW(first.look());
  const auto look_often = [&] {
    for (int i = 0; i < 100; ++i) second.look();
  };
  EXPECT_THROW(look_often(), DrawWatch::PutOff);
  // Another request needs the step to end.
  stop = 1;
  EXPECT_THROW(first.look(), DrawWatch::PutOff);
}

}  // namespace
}  // namespace tenon
