// Figures of the engine on the shape of a llama of a billion parameters, random weights. Disabled:
// they take a minute and a quiet machine.
//   test_engine --gtest_also_run_disabled_tests --gtest_filter='Bar.*'
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
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

std::shared_ptr<const Model> llama_1b() {
  TinyModel shape;
  shape.layers = 16;
  shape.width = 2048;
  shape.heads = 32;
  shape.kv_heads = 8;
  shape.key_dim = shape.value_dim = 64;
  shape.feed_forward = 8192;
  shape.vocab = 128256;
  shape.context = 16384;
  shape.formats = {Format::Q4_0};
  shape.distinct_rows = 64;
  return load_tiny(shape);
}

TEST(Bar, DISABLED_CancelInALongPrompt) {
  const auto engine = Engine::create(llama_1b());
  std::vector<double> delays;
  for (uint32_t i = 0; i < 60; ++i) {
    Session session(engine, SessionOptions{8192});
    session.append(make_tokens(8000, i));
    Clock::time_point returned;
    std::thread prefill([&] {
      EXPECT_THROW(session.prefill(), Error);
      returned = Clock::now();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(100 + i * 37 % 700));
    const Clock::time_point cancelled = Clock::now();
    session.cancel();
    prefill.join();
    delays.push_back(milliseconds(returned - cancelled));
  }
  std::printf("cancel to return: p50 %.2f ms, p99 %.2f ms, max %.2f ms\n", percentile(delays, 0.5),
              percentile(delays, 0.99), percentile(delays, 1));
}

TEST(Bar, DISABLED_PromptBesideDecodes) {
  EngineOptions options;
  options.prefix_cache = true;
  const auto engine = Engine::create(llama_1b(), options);
  Sampler greedy = greedy_sampler();
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::shared_ptr<Generation>> generations;
  GenerationOptions limits;
  limits.ends.ignore_end = true;
  for (uint32_t i = 0; i < 8; ++i) {
    sessions.push_back(std::make_unique<Session>(engine, SessionOptions{4096}));
    sessions.back()->append(make_tokens(16, i));
    generations.push_back(sessions.back()->submit(greedy, limits));
  }
  const auto steps = [&](double seconds, uint32_t& count) {
    std::vector<double> times;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (Clock::now() < end) {
      const auto start = Clock::now();
      engine->step();
      times.push_back(milliseconds(Clock::now() - start));
    }
    count = static_cast<uint32_t>(times.size());
    return percentile(times, 0.99);
  };
  uint32_t count = 0;
  steps(2, count);
  const double without = steps(8, count);
  std::printf("8 decodes: %u steps, p99 %.1f ms\n", count, without);
  Session prompt(engine, SessionOptions{8192});
  prompt.append(make_tokens(4096, 99));
  GenerationOptions one;
  one.max_tokens = 1;
  const auto generation = prompt.submit(greedy, one);
  steps(2, count);
  const uint64_t before = engine->metrics().prompt_tokens_total;
  const double with = steps(15, count);
  const uint64_t computed = engine->metrics().prompt_tokens_total - before;
  std::printf("with a prompt beside: %u steps, p99 %.1f ms (%.2f x), %.1f prompt tokens/s\n", count,
              with, with / without, static_cast<double>(computed) / 15);
  const EngineMetrics metrics = engine->metrics();
  std::printf("scheduling: %.2f %% of the time in steps\n",
              100 * metrics.schedule_seconds_total / metrics.step_seconds_total);
}

}  // namespace
}  // namespace tenon
