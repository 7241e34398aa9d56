// Figures of the engine on a real model's shape. Disabled, since they take up to a minute each and
// a quiet machine; the model file is named when the tests are configured, for instance a random
// one:
//   tenon make-model llama-1b Q4_K_M llama-1b-Q4_K_M.gguf
//   cmake -DTENON_BAR_MODEL=.../llama-1b-Q4_K_M.gguf ...
//   test_engine --gtest_also_run_disabled_tests --gtest_filter='Bar.*CancelInALongPrompt'
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

double percentile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

class Bar : public testing::Test {
 protected:
  void SetUp() override {
    if (path_.empty()) GTEST_SKIP() << "configured without TENON_BAR_MODEL";
    model_ = Model::load(path_);
  }
  [[nodiscard]] std::vector<Token> tokens(uint32_t count, uint32_t seed) const {
    return make_tokens(count, seed, static_cast<uint32_t>(model_->hyper_parameters().vocab));
  }
  /// Decoding sessions, as many as are asked for, that never end.
  void start(const std::shared_ptr<Engine>& engine, uint32_t count) {
    GenerationOptions limits;
    limits.ends.ignore_end = true;
    for (uint32_t i = 0; i < count; ++i) {
      sessions_.push_back(std::make_unique<Session>(engine, SessionOptions{4096}));
      sessions_.back()->append(tokens(16, i));
      generations_.push_back(sessions_.back()->submit(greedy_, limits));
    }
    while (std::ranges::any_of(generations_, [](const auto& g) { return g->tokens.empty(); })) {
      engine->step();
    }
  }
  /// Milliseconds of each step for so long, or until done() is true.
  template <typename Done>
  static std::vector<double> steps(Engine& engine, double seconds, Done done) {
    std::vector<double> times;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (Clock::now() < end && !done()) {
      const auto start = Clock::now();
      engine.step();
      times.push_back(milliseconds(Clock::now() - start));
    }
    return times;
  }

  const std::string path_ = TENON_BAR_MODEL;
  std::shared_ptr<const Model> model_;
  Sampler greedy_ = greedy_sampler();
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<std::shared_ptr<Generation>> generations_;
};

/// A session whose first `depth` tokens count as computed: zeros do for measuring time.
std::unique_ptr<Session> at_depth(const std::shared_ptr<Engine>& engine,
                                  std::span<const Token> text) {
  auto session = std::make_unique<Session>(engine, SessionOptions{8192});
  session->append(text);
  std::vector<std::byte> bytes;
  session->save([&](std::span<const std::byte> part) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  });
  bytes.resize(bytes.size() - 16);  // without the sum
  bytes.resize(bytes.size() + text.size() / engine->row_tokens() * engine->row_bytes());
  const Hash128 sum = hash_bytes(bytes);
  bytes.resize(bytes.size() + 16);
  std::memcpy(bytes.data() + bytes.size() - 16, &sum.low, 8);
  std::memcpy(bytes.data() + bytes.size() - 8, &sum.high, 8);
  session->restore(*ByteSource::from_memory(bytes, "zeros"));
  return session;
}

TEST_F(Bar, DISABLED_CancelInALongPrompt) {
  const auto engine = Engine::create(model_);
  std::vector<std::unique_ptr<Session>> bases;
  for (const uint32_t depth : {32u, 2048u, 5120u, 7616u}) {
    bases.push_back(at_depth(engine, tokens(depth, 1)));
  }
  std::vector<double> delays;
  const auto end = Clock::now() + std::chrono::seconds(40);
  for (uint32_t i = 0; Clock::now() < end; ++i) {
    const auto session = bases[i % bases.size()]->fork();
    session->append(tokens(512, i));
    Clock::time_point returned;
    std::thread prefill([&] {
      EXPECT_THROW(session->prefill(), Error);
      returned = Clock::now();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(30 + i * 37 % 500));
    const Clock::time_point cancelled = Clock::now();
    session->cancel();
    prefill.join();
    delays.push_back(milliseconds(returned - cancelled));
    // Steps that complete bring the size of steps back to what it was.
    Session idle(engine, SessionOptions{64});
    for (uint32_t step = 0; step < 7; ++step) {
      idle.append(tokens(1, step));
      idle.prefill();
    }
  }
  std::printf("cancel to return, %zu cancels: p50 %.2f ms, p99 %.2f ms, max %.2f ms\n",
              delays.size(), percentile(delays, 0.5), percentile(delays, 0.99),
              percentile(delays, 1));
}

TEST_F(Bar, DISABLED_PromptBesideDecodes) {
  const auto engine = Engine::create(model_);
  const auto never = [] { return false; };
  start(engine, 8);
  steps(*engine, 2, never);
  std::vector<double> without = steps(*engine, 6, never);

  Session prompt(engine, SessionOptions{8192});
  prompt.append(tokens(4096, 99));
  GenerationOptions one;
  one.max_tokens = 1;
  const auto generation = prompt.submit(greedy_, one);
  steps(*engine, 2, never);  // the size of slices settles
  const uint64_t before = engine->metrics().prompt_tokens_total;
  const std::vector<double> with = steps(*engine, 20, [&] { return generation->ended; });
  const uint64_t computed = engine->metrics().prompt_tokens_total - before;
  // The decodes became dearer with their texts: they are measured again.
  engine->cancel(*generation);
  const std::vector<double> later = steps(*engine, 6, never);
  without.insert(without.end(), later.begin(), later.end());
  // As much of the prompt alone, in the largest slices.
  Session alone(engine, SessionOptions{8192});
  alone.append(tokens(static_cast<uint32_t>(computed), 98));
  for (const auto& decode : generations_) engine->cancel(*decode);
  const auto begin = Clock::now();
  alone.prefill();
  const double alone_ms = milliseconds(Clock::now() - begin) / static_cast<double>(computed);
  const double slice = static_cast<double>(computed) / static_cast<double>(with.size());
  const double cost_ms = (mean(with) - mean(without)) / slice;
  std::printf("8 decodes: %zu steps, mean %.1f, p50 %.1f, p99 %.1f ms\n", without.size(),
              mean(without), percentile(without, 0.5), percentile(without, 0.99));
  std::printf("beside a prompt: %zu steps, mean %.1f, p50 %.1f, p99 %.1f ms: p99 %.2f times\n",
              with.size(), mean(with), percentile(with, 0.5), percentile(with, 0.99),
              percentile(with, 0.99) / percentile(without, 0.99));
  std::printf("slices of %.1f tokens: %.2f ms for each token of the prompt, alone %.2f: %+.0f %%\n",
              slice, cost_ms, alone_ms, 100 * (cost_ms / alone_ms - 1));
}

TEST_F(Bar, DISABLED_SchedulingOf32) {
  const auto engine = Engine::create(model_);
  start(engine, 32);
  const EngineMetrics before = engine->metrics();
  const std::vector<double> times = steps(*engine, 20, [] { return false; });
  const EngineMetrics after = engine->metrics();
  const double in_steps = after.step_seconds_total - before.step_seconds_total;
  const double around = after.schedule_seconds_total - before.schedule_seconds_total;
  std::printf("32 decodes: %zu steps, p50 %.1f ms; scheduling %.1f us a step, %.3f %%\n",
              times.size(), percentile(times, 0.5),
              1e6 * around / static_cast<double>(times.size()), 100 * around / in_steps);
}

TEST_F(Bar, DISABLED_SharedPrefixOf64) {
  EngineOptions sharing;
  sharing.prefix_cache = true;
  const auto engine = Engine::create(model_, sharing);
  const std::vector<Token> prefix = tokens(1000, 5);
  GenerationOptions two;
  two.max_tokens = 2;
  two.ends.ignore_end = true;
  for (uint32_t i = 0; i < 64; ++i) {
    sessions_.push_back(std::make_unique<Session>(engine, SessionOptions{2048}));
    sessions_.back()->append(prefix);
    sessions_.back()->append(tokens(8, i));
    generations_.push_back(sessions_.back()->submit(greedy_, two));
  }
  steps(*engine, 50,
        [&] { return std::ranges::all_of(generations_, [](const auto& g) { return g->ended; }); });
  const EngineMetrics metrics = engine->metrics();
  const uint64_t computed = metrics.prompt_tokens_total + metrics.decode_tokens_total;
  // 31 blocks of the prefix once, and of each session the rest of the prefix and its own.
  const uint64_t predicted = (31 + 64) * engine->pools()[0]->block_bytes();
  std::printf(
      "64 x (1000 + 8 + 2): %zu tokens computed, at least %u; KV %.1f MB, predicted %.1f MB\n",
      static_cast<size_t>(computed), 992 + 64 * (8 + 8 + 1),
      static_cast<double>(metrics.kv_used_bytes) * 1e-6, static_cast<double>(predicted) * 1e-6);
  EXPECT_EQ(metrics.finished_total, 64u);
}

}  // namespace
}  // namespace tenon
