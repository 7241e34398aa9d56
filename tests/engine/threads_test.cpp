// Many threads: concurrent sessions of a model, and concurrent use of one session.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/base/expect_error.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

using testing::HasSubstr;

constexpr uint32_t kThreads = 4;
constexpr uint32_t kTokens = 24;

/// A text per thread, each with its own length.
std::vector<Token> write_text(const std::shared_ptr<Engine>& engine, uint32_t i) {
  Session session(engine, SessionOptions{128});
  session.append(make_tokens(5 + 20 * i, i));
  return generate(session, kTokens);
}

std::vector<std::vector<Token>> texts_alone() {
  const auto engine = tiny_engine();
  std::vector<std::vector<Token>> texts;
  for (uint32_t i = 0; i < kThreads; ++i) texts.push_back(write_text(engine, i));
  return texts;
}

std::vector<std::vector<Token>> texts_together(
    const std::vector<std::shared_ptr<Engine>>& engines) {
  std::vector<std::vector<Token>> texts(kThreads);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] { texts[i] = write_text(engines[i % engines.size()], i); });
  }
  for (std::thread& thread : threads) thread.join();
  return texts;
}

TEST(Threads, SessionsOfOneEngineWriteWhatTheyWriteAlone) {
  ModelOptions options;
  options.slice = 32;  // so that prompts and single tokens share steps
  EXPECT_EQ(texts_together({tiny_engine({}, std::move(options))}), texts_alone());
}

TEST(Threads, EnginesOfOneModelTakeTurns) {
  const auto model = load_tiny();
  EXPECT_EQ(texts_together({Engine::create(model), Engine::create(model)}), texts_alone());
}

TEST(Threads, ForksOfOneSessionGoOnInParallel) {
  const auto engine = tiny_engine();
  Session session(engine);
  session.append(make_tokens(40));
  session.prefill();
  std::vector<std::unique_ptr<Session>> forks;
  for (uint32_t i = 0; i < kThreads; ++i) forks.push_back(session.fork());
  std::vector<std::vector<Token>> texts(kThreads);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      texts[i] = generate(*forks[i], kTokens);
      forks[i].reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<Token> expected = generate(session, kTokens);
  for (const auto& text : texts) EXPECT_EQ(text, expected);
  EXPECT_EQ(engine->pools()[0]->num_used(), 2u);
}

TEST(Threads, CancelsAndFailuresOfOneDoNotReachTheOthers) {
  const auto engine = tiny_engine();
  Session stopped(engine, SessionOptions{128});
  std::thread canceller([&stopped] {
    for (int i = 0; i < 200; ++i) stopped.cancel();
  });
  std::thread victim([&stopped] {
    for (int i = 0; i < 20; ++i) {
      try {
        stopped.rewind(0);
        stopped.append(make_tokens(60, 3));
        stopped.prefill();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::Cancelled) << error.what();
      }
    }
  });
  EXPECT_EQ(texts_together({engine}), texts_alone());
  canceller.join();
  victim.join();
}

TEST(Threads, ASessionInUseRefusesEveryOtherCall) {
  ModelOptions options;
  options.slice = 8;
  Session session(tiny_engine({}, std::move(options)));
  session.append(make_tokens(30));
  const auto refused = [&session] {
    const auto message = HasSubstr("in use");
    Sampler sampler = greedy_sampler();
    expect_error(Code::State, message, [&] { session.append(make_tokens(1)); });
    expect_error(Code::State, message, [&] { session.append("text", {}); });
    expect_error(Code::State, message, [&] { session.prefill(); });
    expect_error(Code::State, message, [&] { session.next(sampler); });
    expect_error(Code::State, message, [&] { (void)session.logits(); });
    expect_error(Code::State, message, [&] { evaluate_all(session, {}); });
    expect_error(Code::State, message, [&] { (void)session.fork(); });
    expect_error(Code::State, message, [&] { session.rewind(0); });
  };
  uint32_t slices = 0;
  session.prefill([&](double) {
    if (++slices == 1) refused();                  // a callback that calls back
    if (slices == 2) std::thread(refused).join();  // another thread meanwhile
    return true;
  });
  EXPECT_EQ(slices, 4u);
  EXPECT_EQ(session.position(), 30u);
  EXPECT_EQ(generate(session, 1).size(), 1u);
}

}  // namespace
}  // namespace tenon
