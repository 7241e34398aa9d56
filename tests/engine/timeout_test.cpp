// Waits with a timeout return in time despite long prompts; waits of any length end with the same
// tokens.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/slice_tuner.h"
#include "tests/base/faulty_system.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint32_t kPrompt = 200;
constexpr uint64_t kNumTokens = 6;

/// A clock that advances only with work: `phase_ns` per phase of a step.
class WorkClock : public FaultySystem {
 public:
  uint64_t now_ns() noexcept override { return now_; }
  Executor executor() {
    return {this, 1, [](void* user, uint32_t n, void (*task)(void*, uint32_t), void* arg) {
              auto& self = *static_cast<WorkClock*>(user);
              self.now_ += self.phase_ns;
              ++self.num_phases;
              for (uint32_t i = 0; i < n; ++i) task(arg, i);
            }};
  }

  uint64_t phase_ns = kMs;
  uint64_t num_phases = 0;

 private:
  uint64_t now_ = 1'000 * kMs;
};

class Timeouts : public testing::Test {
 protected:
  std::shared_ptr<Engine> make(std::shared_ptr<WorkClock> clock) {
    ModelOptions options;
    if (clock != nullptr) {
      options.executor = clock->executor();
      options.system = clock;
    }
    return tiny_engine({}, std::move(options));
  }
  /// Queues a low-priority prompt.
  void add(const std::shared_ptr<Engine>& engine, uint32_t seed, int32_t priority = -1) {
    sessions_.push_back(std::make_unique<Session>(engine));
    sessions_.back()->append(make_tokens(kPrompt, seed));
    GenerationOptions options;
    options.max_tokens = kNumTokens;
    options.priority = priority;
    options.ends.ignore_end = true;
    generations_.push_back(sessions_.back()->submit(greedy_, options));
  }
  static std::vector<Token> alone(uint32_t seed) {
    Session session(tiny_engine());
    session.append(make_tokens(kPrompt, seed));
    return generate(session, kNumTokens);
  }
  /// Fetches all tokens by waits of `timeout_ns`; calls `each` after each wait.
  template <typename Each>
  std::vector<Token> poll(Engine& engine, Generation& generation, uint64_t timeout_ns, Each each) {
    std::vector<Token> tokens;
    for (uint32_t i = 0; i < 100'000; ++i) {
      engine.wait(generation, timeout_ns);
      each();
      const Engine::Fetched fetched = engine.fetch(generation);
      if (fetched.failure) std::rethrow_exception(fetched.failure);
      if (fetched.has_token) tokens.push_back(fetched.token);
      if (fetched.ended) return tokens;
    }
    ADD_FAILURE() << "no end";
    return tokens;
  }

  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<std::shared_ptr<Generation>> generations_;
  Sampler greedy_ = greedy_sampler();
};

TEST_F(Timeouts, OfAStepThatTakesTooLongStopIt) {
  const auto clock = std::make_shared<WorkClock>();
  const auto engine = make(clock);
  for (uint32_t seed = 1; seed <= 3; ++seed) add(engine, seed);
  const uint64_t start = clock->now_ns();
  EXPECT_FALSE(engine->wait(*generations_[0], 5 * kMs));
  EXPECT_LE(clock->now_ns() - start, 12 * kMs) << "5, 5 more, and a phase";
  EXPECT_EQ(engine->metrics().steps_stopped_total, 1u);
  EXPECT_EQ(engine->metrics().running + engine->metrics().waiting, 3u);
}

TEST_F(Timeouts, ComeBackAfterTheLeastStepAtTheLatest) {
  const auto clock = std::make_shared<WorkClock>();
  const auto engine = make(clock);
  {
    Session warm(engine);
    warm.append(make_tokens(8));
    clock->num_phases = 0;
    warm.prefill();
  }
  const uint64_t step_ns = clock->num_phases * kMs;
  ASSERT_GT(step_ns, 11 * kMs) << "longer than a late wait";
  for (uint32_t seed = 1; seed <= 3; ++seed) add(engine, seed);
  uint64_t latest = clock->now_ns();
  uint64_t longest = 0;
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    const auto each = [&] {
      longest = std::max(longest, clock->now_ns() - latest);
      latest = clock->now_ns();
    };
    EXPECT_EQ(poll(*engine, *generations_[seed - 1], kMs, each), alone(seed)) << seed;
  }
  // A draw on the team takes a further phase.
  EXPECT_LE(longest, step_ns + 4 * kMs);
  EXPECT_LE(engine->metrics().steps_stopped_total, 3u) << "the first shows how long a step is";
}

TEST_F(Timeouts, ThatAreLongComputeLargeSteps) {
  const auto num_steps = [this](uint64_t timeout_ns) {
    const auto engine = make(std::make_shared<WorkClock>());
    generations_.clear();
    for (uint32_t seed = 1; seed <= 3; ++seed) add(engine, seed);
    for (uint32_t seed = 1; seed <= 3; ++seed) {
      EXPECT_EQ(poll(*engine, *generations_[seed - 1], timeout_ns, [] {}), alone(seed));
    }
    EXPECT_EQ(engine->metrics().steps_stopped_total, 0u);
    return engine->metrics().steps_total;
  };
  EXPECT_LE(num_steps(10'000 * kMs), num_steps(UINT64_MAX) + 1) << "one to learn their speed";
}

TEST_F(Timeouts, OfZeroComputeNothing) {
  const auto engine = make(nullptr);
  add(engine, 1);
  EXPECT_FALSE(engine->wait(*generations_[0], 0));
  EXPECT_EQ(engine->metrics().steps_total, 0u);
}

TEST_F(Timeouts, AreKeptByTheRealClock) {
  const auto engine = make(nullptr);
  for (uint32_t seed = 1; seed <= 40; ++seed) add(engine, seed);
  // The last of 8,000 prompt tokens, which take about 100 ms.
  const bool came = engine->wait(*generations_.back(), kMs / 2);
  EXPECT_FALSE(came);
  EXPECT_LT(engine->metrics().prompt_tokens_total, 40u * kPrompt / 2);
  for (uint32_t seed : {1u, 20u, 40u}) {
    EXPECT_EQ(poll(*engine, *generations_[seed - 1], kMs / 2, [] {}), alone(seed)) << seed;
  }
}

TEST_F(Timeouts, HoldWhileOthersDrive) {
  const auto engine = make(nullptr);
  std::thread server([&] { engine->serve(); });
  for (uint32_t seed = 1; seed <= 8; ++seed) add(engine, seed);
  std::vector<std::vector<Token>> texts(8);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 8; ++i) {
    const uint64_t timeout_ns = i % 2 == 0 ? UINT64_MAX : kMs / 4;
    threads.emplace_back(
        [&, i, timeout_ns] { texts[i] = poll(*engine, *generations_[i], timeout_ns, [] {}); });
  }
  for (std::thread& thread : threads) thread.join();
  engine->stop();
  server.join();
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(texts[i], alone(i + 1)) << i;
}

TEST_F(Timeouts, OfManyThreadsAreNoLivelock) {
  const auto engine = make(nullptr);
  for (uint32_t seed = 1; seed <= 4; ++seed) add(engine, seed);
  std::vector<std::vector<Token>> texts(4);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] { texts[i] = poll(*engine, *generations_[i], 1, [] {}); });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(texts[i], alone(i + 1)) << i;
}

TEST(SliceTuner, TokensWithinATimeFollowTheLatestStep) {
  SliceTuner tuner(1.4, 512);
  EXPECT_EQ(tuner.tokens_within(kMs, false), 16u) << "before anything is known";
  tuner.observe(0, 10, 20 * kMs);
  EXPECT_EQ(tuner.tokens_within(100 * kMs, false), 37u) << "three quarters of the time";
  EXPECT_EQ(tuner.tokens_within(kMs, false), 0u);
  EXPECT_EQ(tuner.tokens_within(UINT64_MAX, false), 512u);
  tuner.observe(4, 0, 40 * kMs);
  EXPECT_EQ(tuner.tokens_within(100 * kMs, true), 17u) << "the decodes take 40 ms of it";
  EXPECT_EQ(tuner.tokens_within(30 * kMs, true), 0u);
  tuner.observe_overrun(50, 100 * kMs);
  EXPECT_EQ(tuner.tokens_within(100 * kMs, false), 18u);
  tuner.observe_overrun(25, 400 * kMs);
  EXPECT_EQ(tuner.tokens_within(100 * kMs, false), 2u);
}

}  // namespace
}  // namespace tenon
