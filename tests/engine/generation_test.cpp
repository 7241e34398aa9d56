// Generations: submitted, driven by waiting threads, polled, cancelled, expired, preempted; and
// their reuse of computed prefixes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/base/expect_error.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

using testing::HasSubstr;

/// All tokens of a generation; throws its failure.
std::vector<Token> finish(Engine& engine, Generation& generation) {
  std::vector<Token> out;
  for (;;) {
    EXPECT_TRUE(engine.wait(generation, UINT64_MAX));
    const Engine::Fetched fetched = engine.fetch(generation);
    if (fetched.failure) std::rethrow_exception(fetched.failure);
    if (fetched.ended) return out;
    out.push_back(fetched.token);
  }
}

class Generations : public testing::Test {
 protected:
  std::shared_ptr<Engine> make(EngineOptions options = unbounded_engine(), uint32_t slice = 32) {
    ModelOptions model;
    model.slice = slice;
    if (model_ == nullptr) model_ = load_tiny({}, std::move(model));
    return Engine::create(model_, options);
  }
  /// Tokens that a session generates alone.
  std::vector<Token> alone(std::span<const Token> prompt, uint32_t count) {
    Session session(Engine::create(model_));
    session.append(prompt);
    return generate(session, count);
  }
  uint64_t block_bytes() { return make()->pools()[0]->block_bytes(); }

  std::shared_ptr<const Model> model_;
  Sampler greedy_ = greedy_sampler();
};

TEST_F(Generations, GiveWhatTheSessionGivesByHand) {
  const auto engine = make();
  const std::vector<Token> prompt = make_tokens(70);
  Session session(engine);
  session.append(prompt);
  const auto generation = session.submit(greedy_, limits(9));
  EXPECT_EQ(finish(*engine, *generation), alone(prompt, 9));
  EXPECT_EQ(engine->fetch(*generation).finish, Finish::MaxTokens);
  EXPECT_EQ(session.position(), 79u);
  EXPECT_EQ(generate(session, 3), [&] {
    std::vector<Token> more = alone(prompt, 12);
    return std::vector<Token>(more.begin() + 9, more.end());
  }());
}

TEST_F(Generations, KeepTheSessionInUse) {
  const auto engine = make();
  Session session(engine);
  session.append(make_tokens(40));
  const auto generation = session.submit(greedy_, limits(4));
  EXPECT_TRUE(session.in_use());
  expect_error(Code::State, HasSubstr("in use"), [&] { session.append(make_tokens(1)); });
  expect_error(Code::State, HasSubstr("in use"), [&] { (void)session.submit(greedy_, limits(1)); });
  finish(*engine, *generation);
  EXPECT_FALSE(session.in_use());
}

TEST_F(Generations, NeedTokensAndRoom) {
  Session session(make(), SessionOptions{16});
  expect_error(Code::State, HasSubstr("no tokens"), [&] { (void)session.submit(greedy_, {}); });
  session.append(make_tokens(16));
  expect_error(Code::Limit, HasSubstr("17 > context 16"),
               [&] { (void)session.submit(greedy_, {}); });
  session.rewind(12);
  const auto generation = session.submit(greedy_, limits(0));
  EXPECT_EQ(finish(*session.engine(), *generation).size(), 4u) << "as many as fit";
}

TEST_F(Generations, TellWhyTheyEndedWithTheLastTokenOnly) {
  const auto engine = make();
  Session session(engine);
  session.append(make_tokens(40));
  const auto generation = session.submit(greedy_, limits(3));
  while (engine->step()) {
  }
  EXPECT_EQ(engine->fetch(*generation).finish, Finish::None);
  EXPECT_EQ(engine->fetch(*generation).finish, Finish::None);
  EXPECT_EQ(engine->fetch(*generation).finish, Finish::MaxTokens);
}

TEST_F(Generations, ArePolledWhileStepsAreDrivenByHand) {
  const auto engine = make();
  Session session(engine);
  session.append(make_tokens(40));
  const auto generation = session.submit(greedy_, limits(3));
  EXPECT_FALSE(engine->fetch(*generation).has_token);
  EXPECT_FALSE(engine->wait(*generation, 0)) << "0 does not compute";
  std::vector<Token> tokens;
  while (engine->step()) {
    for (auto fetched = engine->fetch(*generation); fetched.has_token;
         fetched = engine->fetch(*generation)) {
      tokens.push_back(fetched.token);
    }
  }
  while (tokens.size() < 3) tokens.push_back(engine->fetch(*generation).token);
  EXPECT_EQ(tokens, alone(make_tokens(40), 3));
  EXPECT_TRUE(engine->fetch(*generation).ended);
}

TEST_F(Generations, AreServedByAThreadOfTheHost) {
  const auto engine = make();
  std::thread server([&] { engine->serve(); });
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::shared_ptr<Generation>> generations;
  for (uint32_t i = 0; i < 6; ++i) {
    sessions.push_back(std::make_unique<Session>(engine));
    sessions.back()->append(make_tokens(10 + 13 * i, i));
    generations.push_back(sessions.back()->submit(greedy_, limits(8)));
  }
  for (uint32_t i = 0; i < 6; ++i) {
    EXPECT_EQ(finish(*engine, *generations[i]), alone(make_tokens(10 + 13 * i, i), 8)) << i;
  }
  engine->stop();
  server.join();
}

/// Runs each task on its own thread.
struct Threads {
  std::mutex mutex;
  std::vector<std::thread> threads;
  static bool post(void* user, void (*task)(void*), void* arg) noexcept {
    auto& self = *static_cast<Threads*>(user);
    const std::scoped_lock lock(self.mutex);
    self.threads.emplace_back([task, arg] { task(arg); });
    return true;
  }
};

TEST_F(Generations, AreDrivenByAnExecutor) {
  Threads threads;
  EngineOptions options_of_engine = unbounded_engine();
  options_of_engine.speculation = Speculation::Off;  // a piece per step
  const auto engine = make(options_of_engine);
  engine->set_executor({&Threads::post, &threads, nullptr});
  Session session(engine);
  session.append(make_tokens(40));
  std::atomic<uint32_t> told{0};
  GenerationOptions options = limits(5);
  options.notify = [](void* user) noexcept { ++*static_cast<std::atomic<uint32_t>*>(user); };
  options.user = &told;
  const auto generation = session.submit(greedy_, options);
  std::vector<Token> tokens;
  while (true) {  // this thread never drives
    const auto fetched = engine->fetch(*generation);
    if (fetched.has_token) tokens.push_back(fetched.token);
    if (fetched.ended) break;
    std::this_thread::yield();
  }
  EXPECT_EQ(tokens, alone(make_tokens(40), 5));
  for (auto& thread : threads.threads) thread.join();
  EXPECT_EQ(told, 5u);
}

TEST_F(Generations, AreCancelledWhereverTheyAre) {
  const auto engine = make();
  Session session(engine);
  session.append(make_tokens(90));
  for (const bool begun : {false, true}) {
    const auto generation = session.submit(greedy_, limits(20));
    if (begun) engine->step();
    engine->cancel(*generation);
    expect_error(Code::Cancelled, HasSubstr("cancelled"), [&] { finish(*engine, *generation); });
    EXPECT_FALSE(session.in_use());
    engine->cancel(*generation);  // no effect
  }
  session.cancel();
  expect_error(Code::Cancelled, HasSubstr("cancelled"), [&] { session.prefill(); });
  EXPECT_EQ(generate(session, 4), alone(make_tokens(90), 4));
  EXPECT_EQ(engine->metrics().cancelled_total, 2u);
}

TEST_F(Generations, EndWithTheirSession) {
  const auto engine = make();
  std::shared_ptr<Generation> generation;
  {
    Session session(engine);
    session.append(make_tokens(90));
    generation = session.submit(greedy_, limits(20));
    engine->step();
  }
  expect_error(Code::Cancelled, HasSubstr("cancelled"), [&] { finish(*engine, *generation); });
  EXPECT_EQ(engine->pools()[0]->num_used(), 0u);
  EXPECT_FALSE(engine->step());
}

TEST_F(Generations, OfExpiredRequestsNeverRun) {
  const auto engine = make();
  Session session(engine);
  session.append(make_tokens(90));
  GenerationOptions options = limits(20);
  options.timeout_ns = 1;
  const auto generation = session.submit(greedy_, options);
  expect_error(Code::Deadline, HasSubstr("deadline"), [&] { finish(*engine, *generation); });
  const EngineMetrics metrics = engine->metrics();
  EXPECT_EQ(metrics.steps_total, 0u);
  EXPECT_EQ(metrics.expired_total, 1u);
}

TEST_F(Generations, BeyondTheQueueAreRefused) {
  EngineOptions options = unbounded_engine();
  options.max_queued = 2;
  options.max_queued_tokens = 100;
  const auto engine = make(options);
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < 4; ++i) {
    sessions.push_back(std::make_unique<Session>(engine));
    sessions.back()->append(make_tokens(45 + static_cast<uint32_t>(i)));
  }
  const auto first = sessions[0]->submit(greedy_, limits(2));
  sessions[1]->append(make_tokens(30));
  expect_error(Code::Busy, HasSubstr("limit of 100"),
               [&] { (void)sessions[1]->submit(greedy_, limits(2)); });
  const auto second = sessions[2]->submit(greedy_, limits(2));
  expect_error(Code::Busy, HasSubstr("the limit is 2"),
               [&] { (void)sessions[3]->submit(greedy_, limits(2)); });
  finish(*engine, *first);
  finish(*engine, *second);
  EXPECT_EQ(finish(*engine, *sessions[3]->submit(greedy_, limits(2))).size(), 2u);
  EXPECT_EQ(engine->metrics().busy_total, 2u);
}

TEST_F(Generations, GiveTheirBlocksUpAndGetThemBackUnseen) {
  EngineOptions options = unbounded_engine();
  options.cache_bytes = 6 * block_bytes();  // 192 positions, while requests want up to 4 * 80
  const auto engine = make(options);
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::shared_ptr<Generation>> generations;
  for (uint32_t i = 0; i < 4; ++i) {
    sessions.push_back(std::make_unique<Session>(engine));
    sessions.back()->append(make_tokens(30, i));
    generations.push_back(sessions.back()->submit(greedy_, limits(50)));
  }
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(finish(*engine, *generations[i]), alone(make_tokens(30, i), 50)) << i;
  }
  const EngineMetrics metrics = engine->metrics();
  EXPECT_GT(metrics.preempted_total, 0u);
  EXPECT_LE(metrics.kv_held_bytes, options.cache_bytes);
}

TEST_F(Generations, OfHighPriorityTakeTheBlocksOfLowOnes) {
  EngineOptions options = unbounded_engine();
  options.cache_bytes = 3 * block_bytes();
  const auto engine = make(options);
  Session low(engine);
  low.append(make_tokens(40));
  const auto slow = low.submit(greedy_, limits(40));
  engine->step();
  engine->step();
  Session high(engine);
  high.append(make_tokens(60, 2));
  const auto fast = high.submit(greedy_, limits(10, 5));
  EXPECT_EQ(finish(*engine, *fast), alone(make_tokens(60, 2), 10));
  EXPECT_FALSE(slow->ended);
  EXPECT_EQ(finish(*engine, *slow), alone(make_tokens(40), 40));
  EXPECT_GT(engine->metrics().preempted_total, 0u);
}

TEST_F(Generations, ThatCannotFitEndWithBothNumbers) {
  EngineOptions options = unbounded_engine();
  options.cache_bytes = 2 * block_bytes();
  const auto engine = make(options);
  Session session(engine);
  session.append(make_tokens(90));
  const auto generation = session.submit(greedy_, limits(2));
  expect_error(Code::NoMemory, HasSubstr(std::to_string(options.cache_bytes)),
               [&] { finish(*engine, *generation); });
  Session small(engine);
  small.append(make_tokens(20));
  EXPECT_EQ(finish(*engine, *small.submit(greedy_, limits(2))).size(), 2u);
}

// ---- Reuse --------------------------------------------------------------------------------------

class Reuse : public Generations {
 protected:
  struct Answer {
    std::vector<Token> tokens;
    ReuseReport reuse;
  };
  Answer ask(const std::shared_ptr<Engine>& engine, std::span<const Token> prompt,
             const char* salt = "") {
    SessionOptions options;
    options.salt = salt;
    Session session(engine, options);
    session.append(prompt);
    const auto generation = session.submit(greedy_, limits(6));
    Answer answer;
    answer.tokens = finish(*engine, *generation);
    answer.reuse = engine->report(*generation);
    return answer;
  }
  static EngineOptions sharing() {
    EngineOptions options = unbounded_engine();
    options.prefix_cache = true;
    return options;
  }
};

TEST_F(Reuse, OfAWholePromptLeavesTheLastBlock) {
  const auto engine = make(sharing());
  const std::vector<Token> prompt = make_tokens(100);
  EXPECT_EQ(ask(engine, prompt).reuse.reused_tokens, 0u);
  const Answer again = ask(engine, prompt);
  EXPECT_EQ(again.reuse.prompt_tokens, 100u);
  EXPECT_EQ(again.reuse.reused_tokens, 96u);
  EXPECT_EQ(again.reuse.miss.cause, PrefixMiss::Cause::None);
  EXPECT_EQ(again.tokens, alone(prompt, 6));
  // Exactly full blocks: the last token is computed for its logits.
  EXPECT_EQ(ask(engine, std::span(prompt).first(96)).reuse.reused_tokens, 64u);
}

TEST_F(Reuse, SaysWhereTheTextDiffers) {
  const auto engine = make(sharing());
  std::vector<Token> prompt = make_tokens(100);
  ask(engine, prompt);
  prompt[70] = (prompt[70] + 1) % 300;
  const Answer other = ask(engine, prompt);
  EXPECT_EQ(other.reuse.reused_tokens, 64u);
  EXPECT_EQ(other.reuse.miss.cause, PrefixMiss::Cause::DifferentText);
  EXPECT_EQ(other.reuse.miss.position, 70u);
  EXPECT_EQ(other.tokens, alone(prompt, 6));
}

TEST_F(Reuse, StaysWithinASalt) {
  const auto engine = make(sharing());
  const std::vector<Token> prompt = make_tokens(100);
  ask(engine, prompt, "a");
  const Answer other = ask(engine, prompt, "b");
  EXPECT_EQ(other.reuse.reused_tokens, 0u);
  EXPECT_EQ(other.reuse.miss.cause, PrefixMiss::Cause::Salt);
  EXPECT_EQ(ask(engine, prompt, "b").reuse.reused_tokens, 96u);
}

TEST_F(Reuse, SaysWhatWasEvicted) {
  EngineOptions options = sharing();
  options.cache_bytes = 5 * block_bytes();
  const auto engine = make(options);
  const std::vector<Token> prompt = make_tokens(100);
  ask(engine, prompt);
  ask(engine, make_tokens(100, 2));
  const Answer again = ask(engine, prompt);
  EXPECT_EQ(again.reuse.miss.cause, PrefixMiss::Cause::Evicted);
  EXPECT_EQ(again.tokens, alone(prompt, 6));
  EXPECT_GT(engine->metrics().prefix_evicted_total, 0u);
  EXPECT_LE(engine->metrics().kv_held_bytes, options.cache_bytes);
}

TEST_F(Reuse, ComputesASharedBeginningOnce) {
  const auto engine = make(sharing());
  const std::vector<Token> shared = make_tokens(96);
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::shared_ptr<Generation>> generations;
  std::vector<std::vector<Token>> prompts;
  for (uint32_t i = 0; i < 10; ++i) {
    prompts.push_back(shared);
    const auto own = make_tokens(7, 50 + i);
    prompts.back().insert(prompts.back().end(), own.begin(), own.end());
    sessions.push_back(std::make_unique<Session>(engine));
    sessions.back()->append(prompts.back());
    generations.push_back(sessions.back()->submit(greedy_, limits(4)));
  }
  for (uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(finish(*engine, *generations[i]), alone(prompts[i], 4)) << i;
  }
  const EngineMetrics metrics = engine->metrics();
  EXPECT_EQ(metrics.prompt_tokens_total + metrics.decode_tokens_total, 96u + 10 * 7 + 10 * 3);
  EXPECT_EQ(engine->pools()[0]->num_used(), 3u + 10);
}

TEST_F(Reuse, ServesPlainSessionsToo) {
  const auto engine = make(sharing());
  const std::vector<Token> prompt = make_tokens(80);
  Session first(engine);
  first.append(prompt);
  const std::vector<float> logits = last_logits(first);
  Session second(engine);
  second.append(prompt);
  EXPECT_TRUE(same_bits(last_logits(second), logits));
  EXPECT_EQ(second.stats().prefill_tokens, 16u);
  second.rewind(40);  // into a shared block, which is copied on write
  second.append(make_tokens(40, 3));
  second.prefill();
  first.rewind(79);
  first.append(std::span(prompt).last(1));
  EXPECT_TRUE(same_bits(last_logits(first), logits));
}

}  // namespace
}  // namespace tenon
