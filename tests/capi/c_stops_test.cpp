// Stop texts, stop tokens, minimum tokens, log-probabilities.
#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <string>
#include <vector>

#include "demo_session.h"

namespace {

using namespace tenon_test;

class CStops : public DemoSession {};

SamplerPtr make_stopping(std::initializer_list<const char*> stops, int64_t min_tokens = 0) {
  tenon_options* options = nullptr;
  EXPECT_OK(tenon_options_create(&options));
  EXPECT_OK(tenon_options_set_float(options, "temperature", 0.0));
  EXPECT_OK(tenon_options_set_int(options, "min_tokens", min_tokens));
  for (const char* stop : stops) {
    EXPECT_OK(tenon_options_add_string(options, "stop", stop, TENON_NUL_TERMINATED));
  }
  tenon_sampler* sampler = nullptr;
  EXPECT_OK(tenon_sampler_create(options, &sampler));
  tenon_options_destroy(options);
  return SamplerPtr(sampler);
}

TEST_F(CStops, AStopTextEndsTheAnswerAndIsNotHandedOut) {
  const std::string whole = generate(session(kQuestion), 40).text;
  ASSERT_GT(whole.size(), 8u);
  const std::string stop = whole.substr(4, 4);
  const SamplerPtr sampler = make_stopping({"never said", stop.c_str()});
  const SessionPtr stopped = session(kQuestion);
  Seen seen;
  EXPECT_OK(tenon_session_generate(stopped.get(), sampler.get(), 40, record, &seen));
  EXPECT_EQ(seen.text, whole.substr(0, whole.find(stop)));
  EXPECT_EQ(seen.finishes.back(), TENON_FINISH_STOP);
}

TEST_F(CStops, WhatWasHeldBackComesWithTheLastPiece) {
  const std::string three = generate(session(kQuestion), 3).text;
  ASSERT_FALSE(three.empty());
  const std::string stop = three + " and more that is never said";
  const SamplerPtr sampler = make_stopping({stop.c_str()});
  Seen seen;
  EXPECT_OK(tenon_session_generate(session(kQuestion).get(), sampler.get(), 3, record, &seen));
  EXPECT_EQ(seen.text, three);
  EXPECT_EQ(seen.finishes.back(), TENON_FINISH_MAX_TOKENS);

  const SessionPtr by_hand = session(kQuestion);
  for (int i = 0; i < 3; ++i) {
    tenon_piece piece{};
    piece.struct_size = sizeof piece;
    EXPECT_OK(tenon_session_next(by_hand.get(), sampler.get(), &piece));
    EXPECT_EQ(piece.length, 0u);
  }
  const char* held = nullptr;
  size_t length = 0;
  EXPECT_OK(tenon_session_take_held(by_hand.get(), &held, &length));
  EXPECT_EQ(std::string(held, length), three);
}

TEST_F(CStops, StopTokensEndAndMinTokensPutsEndsOff) {
  const Seen plain = generate(session(kQuestion), 40);
  const SamplerPtr sampler = make_stopping({});
  EXPECT_OK(tenon_sampler_add_stop_token(sampler.get(), plain.tokens[1]));
  Seen seen;
  EXPECT_OK(tenon_session_generate(session(kQuestion).get(), sampler.get(), 40, record, &seen));
  EXPECT_EQ(seen.tokens.back(), plain.tokens[1]);
  EXPECT_EQ(seen.finishes.back(), TENON_FINISH_STOP);

  ASSERT_EQ(plain.finishes.back(), TENON_FINISH_END);
  const auto more = static_cast<int64_t>(plain.tokens.size()) + 2;
  const SamplerPtr patient = make_stopping({}, more);
  Seen longer;
  EXPECT_OK(tenon_session_generate(session(kQuestion).get(), patient.get(), 60, record, &longer));
  EXPECT_GE(longer.tokens.size(), static_cast<size_t>(more));
}

TEST_F(CStops, DrawnTokensHaveLogprobs) {
  const SessionPtr of = session(kQuestion);
  const float* data = nullptr;
  size_t count = 0;
  EXPECT_EQ(tenon_session_drawn_logits(of.get(), &data, &count), TENON_ERROR_STATE);
  const Seen seen = generate(of, 1);
  EXPECT_OK(tenon_session_drawn_logits(of.get(), &data, &count));
  float logprob = 1;
  std::vector<tenon_token> top(3);
  std::vector<float> top_logprobs(3);
  EXPECT_OK(tenon_logprobs(data, count, seen.tokens.data(), 1, &logprob, top.data(),
                           top_logprobs.data(), top.size()));
  EXPECT_EQ(top[0], seen.tokens[0]);  // greedy
  EXPECT_EQ(top_logprobs[0], logprob);
  EXPECT_LE(logprob, 0.0f);
  EXPECT_GE(top_logprobs[0], top_logprobs[1]);
}

}  // namespace
