// Two steps under way on a device with a queue: requests continue with unseen tokens, and end, fail
// and yield meanwhile. The answers equal those of one step at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "tests/base/expect_error.h"
#include "tests/base/processor_time.h"
#include "tests/engine/answers.h"
#include "tests/engine/delayed_model.h"
#include "tests/engine/tiny_kinds.h"

namespace tenon {
namespace {

using testing::HasSubstr;

class Steps : public testing::Test {
 protected:
  static std::shared_ptr<Engine> one_at_a_time(const TinyModel& tiny = {}) {
    return Engine::create(load_delayed(tiny, {.steps = 1}));
  }
  static std::shared_ptr<Engine> two_under_way(const TinyModel& tiny = {}) {
    return Engine::create(load_delayed(tiny, {.steps = 2}));
  }
};

TEST_F(Steps, UnderWayGiveTheAnswersOfOneAtATime) {
  const auto one = one_at_a_time();
  for (const Way& way : ways()) {
    const auto two = two_under_way();
    for (const uint32_t prompt : {5u, 70u}) {
      const WholeAnswer expected = ask_way(*one, way, prompt, 40);
      EXPECT_EQ(ask_way(*two, way, prompt, 40), expected) << way.name;
    }
    const EngineMetrics metrics = two->metrics();
    // Prompts of several slices also run ahead: one step each.
    EXPECT_EQ(metrics.steps_ahead_total > 8, way.goes_ahead) << way.name;
    if (way.takes_rows) {
      EXPECT_GE(metrics.logits_rows_total, metrics.generated_tokens_total) << way.name;
    } else if (std::string_view(way.name) != "WithinGrammar") {
      EXPECT_EQ(metrics.logits_rows_total, 0u) << way.name;
    }
  }
  EXPECT_EQ(one->metrics().steps_ahead_total, 0u);
}

TEST_F(Steps, UnderWayServeRequestsOfAllKindsSideBySide) {
  const auto one = one_at_a_time();
  const auto two = two_under_way();
  struct AskedWay {
    std::unique_ptr<Session> session;
    std::shared_ptr<Generation> generation;
    WholeAnswer expected;
  };
  std::vector<AskedWay> all;
  const size_t count = (kSanitized ? 1 : 3) * ways().size();
  for (uint32_t i = 0; i < count; ++i) {
    const Way& way = ways()[i % ways().size()];
    const uint32_t prompt = 3 + 13 * i;
    AskedWay asked{std::make_unique<Session>(two), nullptr, ask_way(*one, way, prompt, 12 + i)};
    asked.session->append(make_tokens(prompt, prompt));
    Sampler sampler;
    sampler.set("seed", int64_t{0});
    GenerationOptions options = limits(12 + i);
    way.set(sampler, options, two->model());
    asked.generation = asked.session->submit(sampler, options);
    all.push_back(std::move(asked));
  }
  for (AskedWay& asked : all) EXPECT_EQ(whole_answer(*two, *asked.generation), asked.expected);
  EXPECT_GT(two->metrics().steps_ahead_total, 0u);
}

TEST_F(Steps, UnderWayOfWindowsAndStates) {
  // Each takes a dozen seconds with a sanitizer.
  std::vector<const char*> architectures = {"mamba", "gemma3", "deepseek2", "qwen4exp"};
  if (kSanitized) architectures.resize(1);
  for (const char* architecture : architectures) {
    const auto one = Engine::create(load_delayed_random(architecture, {.steps = 1}));
    const auto two = Engine::create(load_delayed_random(architecture, {.steps = 2}));
    for (const uint32_t prompt : {3u, 70u}) {
      EXPECT_EQ(ask_way(*two, ways()[1], prompt, 30), ask_way(*one, ways()[1], prompt, 30))
          << architecture;
    }
    EXPECT_GT(two->metrics().steps_ahead_total, 30u) << architecture;
    EXPECT_EQ(two->metrics().kv_used_bytes, 0u) << architecture;
  }
}

TEST_F(Steps, AheadOfTheEndOfARequestLeaveItsSessionAsItIs) {
  const auto one = one_at_a_time();
  const WholeAnswer longer = ask_way(*one, ways()[0], 20, 30);
  const auto two = two_under_way();
  Session session(two);
  session.append(make_tokens(20, 20));
  GenerationOptions options = limits(30);
  options.ends.stop_tokens = {longer.tokens[9]};
  const auto until = static_cast<size_t>(std::ranges::find(longer.tokens, longer.tokens[9]) -
                                         longer.tokens.begin());
  const auto generation = session.submit(greedy_sampler(), options);
  const WholeAnswer ended = whole_answer(*two, *generation);
  EXPECT_EQ(ended.finish, Finish::Stop);
  ASSERT_EQ(ended.tokens.size(), until + 1);
  const auto more = session.submit(greedy_sampler(), limits(29 - until));
  const WholeAnswer rest = whole_answer(*two, *more);
  EXPECT_EQ(rest.tokens,
            std::vector<Token>(longer.tokens.begin() + static_cast<ptrdiff_t>(until) + 1,
                               longer.tokens.end()));
}

TEST_F(Steps, UnderWayAreCancelledAndTheOthersGoOn) {
  const auto one = one_at_a_time();
  const auto two = Engine::create(load_delayed({}, {.steps = 2, .step_us = 2000}));
  Session other(two);
  other.append(make_tokens(9, 9));
  const auto stays = other.submit(greedy_sampler(), limits(25));
  for (uint32_t i = 0; i < 4; ++i) {
    Session session(two);
    session.append(make_tokens(20, 20));
    const auto generation = session.submit(greedy_sampler(), limits(30));
    for (uint32_t token = 0; token < 1 + i; ++token) {
      ASSERT_TRUE(two->wait(*generation, UINT64_MAX));
      ASSERT_TRUE(two->fetch(*generation).has_token);
    }
    two->cancel(*generation);
    expect_error(Code::Cancelled, HasSubstr("cancelled"), [&] { whole_answer(*two, *generation); });
    const uint64_t kept = session.position() - 20;
    const auto again = session.submit(greedy_sampler(), limits(30 - kept));
    const std::vector<Token> rest = whole_answer(*two, *again).tokens;
    const std::vector<Token> expected = ask_way(*one, ways()[0], 20, 30).tokens;
    EXPECT_EQ(rest,
              std::vector<Token>(expected.begin() + static_cast<ptrdiff_t>(kept), expected.end()));
  }
  EXPECT_EQ(whole_answer(*two, *stays).tokens, ask_way(*one, ways()[0], 9, 25).tokens);
}

/// A step or draw of the device fails: its requests fail, and requests that joined in the step
/// ahead continue.
TEST_F(Steps, UnderWayThatFailDoNotTakeTheNextOneWithThem) {
  const auto one = one_at_a_time();
  const WholeAnswer expected = ask_way(*one, ways()[0], 20, 12);
  for (const bool in_draw : {false, true}) {
    for (uint32_t number = 1; number < 9; ++number) {
      SCOPED_TRACE(testing::Message() << (in_draw ? "draw " : "step ") << number);
      DelayedOptions device{.steps = 2, .step_us = 1000};
      (in_draw ? device.fail_draw : device.fail_step) = number;
      const auto two = Engine::create(load_delayed({}, device));
      // One request runs; the other joins while the third token is computed.
      std::vector<std::unique_ptr<Session>> sessions;
      std::vector<std::shared_ptr<Generation>> asked;
      const auto submit = [&] {
        sessions.push_back(std::make_unique<Session>(two));
        sessions.back()->append(make_tokens(20, 20));
        asked.push_back(sessions.back()->submit(greedy_sampler(), limits(12)));
      };
      submit();
      for (uint32_t token = 0; token < 3; ++token) {
        (void)two->wait(*asked[0], UINT64_MAX);
        if (two->fetch(*asked[0]).failure) break;
      }
      submit();
      submit();
      uint32_t num_failed = 0;
      for (const auto& generation : asked) {
        try {
          const std::vector<Token> tokens = whole_answer(*two, *generation).tokens;
          const size_t fetched = expected.tokens.size() - tokens.size();
          EXPECT_EQ(tokens,
                    std::vector<Token>(expected.tokens.begin() + static_cast<ptrdiff_t>(fetched),
                                       expected.tokens.end()));
        } catch (const Error& error) {
          EXPECT_THAT(error.what(), HasSubstr("as it was asked to"));
          ++num_failed;
        }
      }
      EXPECT_LE(num_failed, 3U);
      EXPECT_GE(num_failed, 1U);
      // Failed requests may be repeated.
      for (const auto& session : sessions) {
        session->rewind(0);
        session->append(make_tokens(20, 20));
        EXPECT_EQ(whole_answer(*two, *session->submit(greedy_sampler(), limits(12))).tokens,
                  expected.tokens);
      }
    }
  }
}

TEST_F(Steps, UnderWayEndAtADeadline) {
  const auto two = Engine::create(load_delayed({}, {.steps = 2, .step_us = 5000}));
  Session session(two);
  session.append(make_tokens(20));
  GenerationOptions options = limits(200);
  options.timeout_ns = 60'000'000;
  const auto generation = session.submit(greedy_sampler(), options);
  const auto start = std::chrono::steady_clock::now();
  expect_error(Code::Deadline, HasSubstr("deadline"), [&] { whole_answer(*two, *generation); });
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  EXPECT_EQ(two->metrics().running, 0u);
}

TEST_F(Steps, UnderWayGiveTheirBlocksToWhoRanksHigher) {
  const auto one = one_at_a_time();
  const uint64_t block = one->pools()[0]->block_bytes();
  EngineOptions starved = unbounded_engine();
  starved.cache_bytes = 6 * block;
  const auto two = Engine::create(load_delayed({}, {.steps = 2}), starved);
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::shared_ptr<Generation>> generations;
  for (uint32_t i = 0; i < 4; ++i) {
    sessions.push_back(std::make_unique<Session>(two, SessionOptions{128}));
    sessions.back()->append(make_tokens(30 + i, 30 + i));
    GenerationOptions options = limits(60);
    options.priority = static_cast<int32_t>(i);
    generations.push_back(sessions.back()->submit(greedy_sampler(), options));
    two->step();
    two->step();
  }
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(whole_answer(*two, *generations[i]).tokens,
              ask_way(*one, ways()[0], 30 + i, 60).tokens)
        << i;
  }
  EXPECT_GT(two->metrics().preempted_total, 0u);
  EXPECT_LE(two->metrics().kv_held_bytes, starved.cache_bytes);
}

TEST_F(Steps, LeftUnderWayAreFinishedForAnotherEngineOfTheModel) {
  const auto model = load_delayed({}, {.steps = 2, .step_us = 1000});
  const auto first = Engine::create(model);
  const auto second = Engine::create(model);
  const std::vector<Token> expected = ask_way(*one_at_a_time(), ways()[0], 20, 12).tokens;
  Session one(first);
  one.append(make_tokens(20, 20));
  const auto left = one.submit(greedy_sampler(), limits(12));
  ASSERT_TRUE(first->wait(*left, UINT64_MAX));  // leaves a step under way
  EXPECT_EQ(ask_way(*second, ways()[0], 20, 12).tokens, expected);
  EXPECT_EQ(whole_answer(*first, *left).tokens, expected);
}

TEST_F(Steps, LeftUnderWayEndWithTheirEngine) {
  const auto model = load_delayed({}, {.steps = 2, .step_us = 20000});
  for (uint32_t i = 0; i < 3; ++i) {
    Session session(Engine::create(model));
    session.append(make_tokens(20));
    const auto generation = session.submit(greedy_sampler(), limits(12));
    ASSERT_TRUE(session.engine()->wait(*generation, UINT64_MAX));
    session.engine()->withdraw(*generation);
  }
  EXPECT_EQ(ask_way(*Engine::create(model), ways()[0], 20, 4).tokens.size(), 4u);
}

/// Seconds per token over `count` tokens, with `host_us` of host work each.
double token_seconds(const DelayedOptions& device, uint32_t host_us, uint32_t count) {
  const auto engine = Engine::create(load_delayed({}, device));
  Session session(engine);
  session.append(make_tokens(4));
  const auto generation = session.submit(greedy_sampler(), limits(count));
  std::chrono::steady_clock::time_point start;
  bool first = true;
  whole_answer(*engine, *generation, [&] {
    if (std::exchange(first, false)) start = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::microseconds(host_us));
  });
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / (count - 1);
}

TEST_F(Steps, UnderWayHideTheHostOrTheDeviceBehindTheOther) {
  if (kSanitized) GTEST_SKIP() << "what the host does takes many times as long";
  // 5 ms per step and 5 ms per draw, in sequence.
  const DelayedOptions device{.steps = 2, .step_us = 5000, .draw_us = 5000};
  const DelayedOptions serial{.steps = 1, .step_us = 5000, .draw_us = 5000};
  for (const uint32_t host_us : {2000u, 8000u, 14000u}) {
    const double larger = std::max(10000u, host_us) * 1e-6;
    double best = 1;  // best of the runs of a minute, because other processes use the machine
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (best > 1.1 * larger && std::chrono::steady_clock::now() < end) {
      best = std::min(best, token_seconds(device, host_us, 20));
    }
    EXPECT_LE(best, 1.1 * larger) << host_us;
    EXPECT_GE(token_seconds(serial, host_us, 6), (10000 + host_us) * 1e-6) << host_us;
  }
}

}  // namespace
}  // namespace tenon
