// Destruction of handles in any order at any time, and errors of later calls.
#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "handles.h"

namespace {

using namespace tenon_test;

RequestPtr submit_long_prompt(tenon_session* session) {
  std::string text;
  for (int i = 0; i < 450; ++i) text += "word ";
  tenon_submission submission = sized<tenon_submission>();
  submission.text = text.data();
  submission.text_length = text.size();
  tenon_request* request = nullptr;
  EXPECT_OK(tenon_session_submit(session, &submission, &request));
  return RequestPtr(request);
}

// Tries all 24 orders of a model, an engine, a session and a generating request.
TEST(Life, HandlesAreDestroyedInAnyOrder) {
  std::array<int, 4> order = {0, 1, 2, 3};
  do {
    ModelPtr model = open_demo();
    tenon_engine* raw_engine = nullptr;
    ASSERT_OK(tenon_engine_create(model.get(), nullptr, &raw_engine));
    EnginePtr engine(raw_engine);
    tenon_session* raw_session = nullptr;
    ASSERT_OK(tenon_engine_open_session(engine.get(), nullptr, &raw_session));
    SessionPtr session(raw_session);
    RequestPtr request = submit_long_prompt(session.get());
    tenon_piece piece = sized<tenon_piece>();
    ASSERT_OK(tenon_request_wait(request.get(), 0.001, &piece));
    for (const int which : order) {
      if (which == 0) model.reset();
      if (which == 1) engine.reset();
      if (which == 2) session.reset();
      if (which == 3) request.reset();
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

// The request survives its model, engine and session, and reports its outcome.
TEST(Life, ARequestOutlivesItsSession) {
  ModelPtr model = open_demo();
  SessionPtr session = make_session(model);
  const RequestPtr request = submit_long_prompt(session.get());
  session.reset();
  model.reset();
  tenon_piece piece = sized<tenon_piece>();
  expect_failure(tenon_request_wait(request.get(), -1, &piece), TENON_ERROR_CANCELLED, "cancelled");
}

// Another thread computes the request: destroying it returns when the session is free again.
TEST(Life, ADestroyedRequestLetsItsSessionGo) {
  const ModelPtr model = open_demo();
  tenon_engine* raw_engine = nullptr;
  ASSERT_OK(tenon_engine_create(model.get(), nullptr, &raw_engine));
  const EnginePtr engine(raw_engine);
  std::thread driver([&] { EXPECT_OK(tenon_engine_run(engine.get())); });
  tenon_session* raw_session = nullptr;
  ASSERT_OK(tenon_engine_open_session(engine.get(), nullptr, &raw_session));
  const SessionPtr session(raw_session);
  for (int round = 0; round < 20; ++round) {
    RequestPtr request = submit_long_prompt(session.get());
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 5));
    request.reset();
    ASSERT_OK(tenon_session_rewind(session.get(), 0)) << "in round " << round;
  }
  EXPECT_OK(tenon_engine_stop(engine.get()));
  driver.join();
}

// A session destroyed by another thread during a call goes when the call returns; the call
// succeeds.
TEST(Life, ASessionIsDestroyedDuringACall) {
  const ModelPtr model = open_demo();
  SessionPtr session = make_session(model);
  const std::string text(2000, 'a');
  ASSERT_OK(tenon_session_append_text(session.get(), text.data(), 900, 0));
  struct Seen {
    tenon_session* session;
    bool is_destroyed = false;
  } seen{session.release()};
  const auto destroy = [](void* user, double) {
    auto* in = static_cast<Seen*>(user);
    if (in->is_destroyed) return int32_t{0};
    std::thread([in] { tenon_session_destroy(in->session); }).join();
    in->is_destroyed = true;
    return int32_t{0};
  };
  EXPECT_OK(tenon_session_prefill(seen.session, destroy, &seen));
  EXPECT_TRUE(seen.is_destroyed);
}

// Dependencies may be destroyed first, and borrowed handles go with their owner.
TEST(Life, WhatAnObjectNeedsItKeepsAlive) {
  ModelPtr model = open_demo();
  const tenon_tokenizer* tokenizer = nullptr;
  ASSERT_OK(tenon_model_tokenizer(model.get(), &tokenizer));
  tenon_grammar* raw_grammar = nullptr;
  ASSERT_OK(tenon_grammar_create(TENON_GRAMMAR_REGEX, "[ab]+", TENON_NUL_TERMINATED, &raw_grammar));
  GrammarPtr grammar(raw_grammar);
  const SamplerPtr sampler = make_greedy();
  ASSERT_OK(tenon_sampler_set_grammar(sampler.get(), grammar.get(), tokenizer));
  SessionPtr session = make_session(model);
  grammar.reset();
  model.reset();
  ASSERT_OK(tenon_session_append_text(session.get(), "x", 1, 0));
  EXPECT_OK(tenon_session_generate(session.get(), sampler.get(), 4, nullptr, nullptr));
}

/// Calls until an error; returns its status.
template <typename Call>
tenon_status call_until_it_fails(Call call) {
  for (;;) {
    if (const tenon_status status = call(); status != TENON_OK) return status;
  }
}

// Several threads call without pause while the handle is destroyed: running calls succeed, later
// ones fail.
template <typename Call, typename Destroy>
void expect_an_end_beside_calls(Call call, Destroy destroy) {
  std::array<tenon_status, 3> ends{};
  std::array<std::thread, 3> threads;
  std::atomic<int> num_started = 0;
  for (size_t i = 0; i < threads.size(); ++i) {
    threads[i] = std::thread([&, i] {
      ++num_started;
      ends[i] = call_until_it_fails(call);
    });
  }
  while (num_started < 3) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  destroy();
  for (std::thread& thread : threads) thread.join();
  for (const tenon_status end : ends) EXPECT_STREQ(tenon_status_name(end), "ARGUMENT");
}

TEST(Life, HandlesAreDestroyedBesideCalls) {
  for (int round = 0; round < 10; ++round) {
    ModelPtr model = open_demo();
    tenon_engine* engine = nullptr;
    ASSERT_OK(tenon_engine_create(model.get(), nullptr, &engine));
    expect_an_end_beside_calls(
        [&] {
          auto stats = sized<tenon_engine_stats>();
          return tenon_engine_get_stats(engine, &stats);
        },
        [&] { tenon_engine_destroy(engine); });
    // A tokenizer is part of a model: the model's memory stays until the tokenizer's calls return.
    const tenon_tokenizer* tokenizer = nullptr;
    ASSERT_OK(tenon_model_tokenizer(model.get(), &tokenizer));
    expect_an_end_beside_calls(
        [&] {
          size_t count = 0;
          return tenon_tokenizer_encode(tokenizer, "a fox", 5, 0, nullptr, 0, &count);
        },
        [&] { model.reset(); });
    tenon_grammar* grammar = nullptr;
    ASSERT_OK(tenon_grammar_create(TENON_GRAMMAR_REGEX, "[ab]+", TENON_NUL_TERMINATED, &grammar));
    expect_an_end_beside_calls(
        [&] {
          int32_t accepted = 0;
          return tenon_grammar_accepts(grammar, "abab", 4, &accepted);
        },
        [&] { tenon_grammar_destroy(grammar); });
  }
}

TEST(Life, AWaitReturnsWhenItsRequestIsDestroyed) {
  const ModelPtr model = open_demo();
  const SessionPtr session = make_session(model);
  tenon_request* request = submit_long_prompt(session.get()).release();
  std::thread destroyer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    tenon_request_destroy(request);
  });
  const tenon_status end = call_until_it_fails([&] {
    auto piece = sized<tenon_piece>();
    const tenon_status status = tenon_request_wait(request, -1, &piece);
    // The request may have completed before.
    return status == TENON_OK && piece.finish != TENON_FINISH_NONE ? TENON_ERROR_CANCELLED : status;
  });
  EXPECT_TRUE(end == TENON_ERROR_CANCELLED || end == TENON_ERROR_ARGUMENT)
      << tenon_status_name(end);
  destroyer.join();
}

// Both wait for the end of the request, which a third thread computes.
TEST(Life, ASessionAndItsRequestAreDestroyedAtTheSameTime) {
  const ModelPtr model = open_demo();
  tenon_engine* raw = nullptr;
  ASSERT_OK(tenon_engine_create(model.get(), nullptr, &raw));
  std::thread computing([&] { EXPECT_OK(tenon_engine_run(raw)); });
  for (int round = 0; round < 200; ++round) {
    tenon_session* session = nullptr;
    ASSERT_OK(tenon_engine_open_session(raw, nullptr, &session));
    tenon_request* request = submit_long_prompt(session).release();
    std::atomic<int> ready = 0;
    const auto together = [&](auto destroy) {
      return std::thread([&ready, destroy] {
        for (++ready; ready < 2;) {
        }
        destroy();
      });
    };
    std::this_thread::sleep_for(std::chrono::microseconds(round * 20));
    std::thread one = together([session] { tenon_session_destroy(session); });
    std::thread other = together([request] { tenon_request_destroy(request); });
    one.join();
    other.join();
  }
  EXPECT_OK(tenon_engine_stop(raw));
  computing.join();
  tenon_engine_destroy(raw);
}

TEST(Life, LateCallsAreTold) {
  const ModelPtr model = open_demo();
  std::array<tenon_session*, 300> late{};
  for (tenon_session*& session : late) {
    session = make_session(model).release();
    tenon_session_destroy(session);
  }
  for (tenon_session* const session : late) {
    uint64_t position = 0;
    expect_failure(tenon_session_position(session, &position), TENON_ERROR_ARGUMENT, "destroyed");
    expect_failure(tenon_session_cancel(session), TENON_ERROR_ARGUMENT, "destroyed");
    tenon_session_destroy(session);
  }
}

}  // namespace
