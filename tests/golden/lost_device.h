// What a model whose device is lost and made anew (the option on_lost) answers, for the tests of each GPU backend: they
// say how a device is lost.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tests/engine/tiny_engine.h"
#include "tests/golden/golden_model.h"

namespace tenon::golden {

/// Of a driver for tests.
struct LossControl {
  /// The device is lost at the n-th call from now; 0: at none.
  std::function<void(int64_t)> lose_at;
  /// Such calls so far.
  std::function<int64_t()> calls;
};

class LostDevice {
 public:
  LostDevice(const GoldenModel& golden, ModelOptions options, LossControl control)
      : golden_(golden), control_(std::move(control)) {
    options.on_lost = "reopen";
    EngineOptions engine;
    engine.prefix_cache = true;
    engine_ = Engine::create(load_source(golden_.source(), std::move(options)), engine);
    expected_ = answer(0);
  }

  /// At each `stride`-th call: the caller hears of it once, what was there before goes on, and the answer is the
  /// same.
  void lose_each(int64_t stride) {
    int64_t calls = 1;
    for (int64_t n = 0; n <= calls; n += n == 0 ? 1 : stride) {
      SCOPED_TRACE(n);
      Session idle(engine_);
      idle.append(prompt());
      EXPECT_EQ(idle.next(sampler_), expected_[0]);
      if (n == 0) {  // without a loss: how many calls there are to lose it at
        const int64_t before = control_.calls();
        EXPECT_EQ(answer(0), expected_);
        calls = control_.calls() - before;
        ASSERT_GT(calls, 3);
        continue;
      }
      EXPECT_EQ(answer(n), expected_);
      EXPECT_EQ(failures_, 1);
      EXPECT_EQ(idle.next(sampler_), expected_[1]) << "a session that was idle meanwhile";
    }
  }

  /// The device is lost, and lost again while it is made anew: two errors, and then the answer.
  void lose_while_it_is_made_anew() {
    control_.lose_at(1);
    Session session(engine_);
    session.append(prompt());
    EXPECT_THROW(static_cast<void>(session.next(sampler_)), Error);
    control_.lose_at(1);
    EXPECT_THROW(static_cast<void>(session.next(sampler_)), Error);
    control_.lose_at(0);
    EXPECT_EQ(session.next(sampler_), expected_[0]);
  }

 private:
  [[nodiscard]] std::vector<Token> prompt() const {
    std::vector<Token> tokens = golden_.tokens();
    tokens.resize(4);
    return tokens;
  }

  std::vector<Token> answer(int64_t lose_at) {
    Session session(engine_);
    session.append(prompt());
    failures_ = 0;
    control_.lose_at(lose_at);
    std::vector<Token> tokens;
    while (tokens.size() < 3 && failures_ < 3) {
      try {
        tokens.push_back(session.next(sampler_));
      } catch (const Error& error) {
        ++failures_;
        EXPECT_EQ(error.code(), Code::State);
        EXPECT_THAT(error.what(), testing::HasSubstr("lost"));
      }
    }
    control_.lose_at(0);
    return tokens;
  }

  const GoldenModel& golden_;
  LossControl control_;
  std::shared_ptr<Engine> engine_;
  Sampler sampler_ = greedy_sampler();
  std::vector<Token> expected_;
  int failures_ = 0;
};

}  // namespace tenon::golden
