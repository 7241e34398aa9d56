// Stops, minimum tokens and log-probabilities of requests equal those of session calls.
#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "base/processor_time.h"
#include "demo_session.h"

namespace {

using namespace tenon_test;

class CRequestStops : public DemoSession {
 protected:
  static SamplerPtr make(const std::vector<std::string>& stops, int64_t min_tokens = 0) {
    const OptionsPtr options = make_options();
    EXPECT_OK(tenon_options_set_float(options.get(), "temperature", 0.0));
    EXPECT_OK(tenon_options_set_int(options.get(), "min_tokens", min_tokens));
    for (const std::string& stop : stops) {
      EXPECT_OK(tenon_options_add_string(options.get(), "stop", stop.data(), stop.size()));
    }
    tenon_sampler* sampler = nullptr;
    EXPECT_OK(tenon_sampler_create(options.get(), &sampler));
    return SamplerPtr(sampler);
  }
  static tenon_submission submission(const SamplerPtr& sampler, uint64_t max_tokens) {
    auto what = sized<tenon_submission>();
    what.text = kQuestion;
    what.text_length = TENON_NUL_TERMINATED;
    what.flags = TENON_PARSE_SPECIAL;
    what.sampler = sampler.get();
    what.max_tokens = max_tokens;
    return what;
  }
  static RequestPtr submit(const SessionPtr& of, const tenon_submission& what) {
    tenon_request* request = nullptr;
    EXPECT_OK(tenon_session_submit(of.get(), &what, &request));
    return RequestPtr(request);
  }
  static Seen read(const RequestPtr& request) {
    Seen seen;
    auto piece = sized<tenon_piece>();
    do {
      EXPECT_OK(tenon_request_wait(request.get(), -1, &piece));
      record(&seen, &piece);
    } while (piece.finish == TENON_FINISH_NONE && seen.tokens.size() < 1000);
    return seen;
  }
  /// Expects equal results of a request and of a session's call with the same sampler.
  void expect_same(const SamplerPtr& sampler, uint64_t max_tokens, int32_t finish) {
    Seen by_call;
    EXPECT_OK(tenon_session_generate(session(kQuestion).get(), sampler.get(), max_tokens, record,
                                     &by_call));
    const SessionPtr of = session();
    const Seen by_request = read(submit(of, submission(sampler, max_tokens)));
    EXPECT_EQ(by_request.text, by_call.text);
    EXPECT_EQ(by_request.tokens, by_call.tokens);
    EXPECT_EQ(by_request.finishes, by_call.finishes);
    EXPECT_EQ(by_request.finishes.back(), finish);
  }
};

TEST_F(CRequestStops, EndAndShowWhatSessionCallsDo) {
  const Seen whole = generate(session(kQuestion), 40);
  ASSERT_GT(whole.text.size(), 8u);
  ASSERT_EQ(whole.finishes.back(), TENON_FINISH_END);
  expect_same(make({"never said", whole.text.substr(4, 4)}), 40, TENON_FINISH_STOP);
  expect_same(make({whole.text.substr(0, 5) + " and more"}), 3, TENON_FINISH_MAX_TOKENS);
  expect_same(make({whole.text + " and more"}), 60, TENON_FINISH_END);
  const auto more = static_cast<int64_t>(whole.tokens.size()) + 2;
  expect_same(make({}, more), static_cast<uint64_t>(more) + 1, TENON_FINISH_MAX_TOKENS);
  const SamplerPtr at_token = make({});
  EXPECT_OK(tenon_sampler_add_stop_token(at_token.get(), whole.tokens[1]));
  expect_same(at_token, 40, TENON_FINISH_STOP);
}

TEST_F(CRequestStops, CountTokensAcrossCallsAndRequests) {
  const Seen whole = generate(session(kQuestion), 40);
  const auto length = static_cast<int64_t>(whole.tokens.size());
  // Three tokens by hand, the rest by a request: the minimum counts from the prompt.
  const SamplerPtr patient = make({}, length);
  const SessionPtr of = session(kQuestion);
  auto piece = sized<tenon_piece>();
  std::string text;
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(tenon_session_next(of.get(), patient.get(), &piece));
    text.append(piece.text, piece.length);
  }
  tenon_submission what = submission(patient, 200);
  what.text_length = 0;
  const RequestPtr request = submit(of, what);
  text += read(request).text;
  Seen by_call;
  EXPECT_OK(tenon_session_generate(session(kQuestion).get(), patient.get(), 203, record, &by_call));
  EXPECT_EQ(text, by_call.text);
}

TEST_F(CRequestStops, LogprobsAreThoseOfTheLogits) {
  const SessionPtr of = session();
  tenon_submission what = submission(make({}), 4);
  what.sampler = greedy_.get();
  what.num_top = 3;
  const RequestPtr request = submit(of, what);
  const SessionPtr by_hand = session(kQuestion);
  float logprob = 0;
  tenon_token top[4];
  float top_logprobs[4];
  expect_failure(tenon_request_logprobs(request.get(), &logprob, top, top_logprobs, 3),
                 TENON_ERROR_STATE, "no token");
  for (int i = 0; i < 4; ++i) {
    auto piece = sized<tenon_piece>();
    ASSERT_OK(tenon_request_wait(request.get(), -1, &piece));
    ASSERT_OK(tenon_request_logprobs(request.get(), &logprob, top, top_logprobs, 3));
    auto other = sized<tenon_piece>();
    ASSERT_OK(tenon_session_next(by_hand.get(), greedy_.get(), &other));
    const float* logits = nullptr;
    size_t count = 0;
    ASSERT_OK(tenon_session_drawn_logits(by_hand.get(), &logits, &count));
    float expected = 0;
    tenon_token expected_top[3];
    float expected_top_logprobs[3];
    ASSERT_OK(tenon_logprobs(logits, count, &other.token, 1, &expected, expected_top,
                             expected_top_logprobs, 3));
    EXPECT_EQ(piece.token, other.token);
    EXPECT_EQ(logprob, expected);
    for (int k = 0; k < 3; ++k) {
      EXPECT_EQ(top[k], expected_top[k]);
      EXPECT_EQ(top_logprobs[k], expected_top_logprobs[k]);
    }
  }
  EXPECT_OK(tenon_request_logprobs(request.get(), &logprob, nullptr, nullptr, 0));
  expect_failure(tenon_request_logprobs(request.get(), &logprob, top, top_logprobs, 4),
                 TENON_ERROR_ARGUMENT, "3 were asked for");
  expect_failure(tenon_request_logprobs(request.get(), &logprob, nullptr, top_logprobs, 1),
                 TENON_ERROR_ARGUMENT, "top_tokens");
  expect_failure(tenon_request_logprobs(request.get(), nullptr, top, top_logprobs, 1),
                 TENON_ERROR_ARGUMENT, "logprob");
}

TEST_F(CRequestStops, LogprobsOfChosenTokens) {
  const SessionPtr of = session();
  tenon_submission what = submission(greedy_, 3);
  const tenon_token chosen[] = {7, 300, 7};
  what.logprob_tokens = chosen;
  what.num_logprob_tokens = 3;
  const RequestPtr request = submit(of, what);
  const SessionPtr by_hand = session(kQuestion);
  float values[4];
  expect_failure(tenon_request_logprobs_of(request.get(), values, 3), TENON_ERROR_STATE,
                 "no token");
  for (int i = 0; i < 3; ++i) {
    auto piece = sized<tenon_piece>();
    ASSERT_OK(tenon_request_wait(request.get(), -1, &piece));
    ASSERT_OK(tenon_request_logprobs_of(request.get(), values, 3));
    float drawn = 0;
    ASSERT_OK(tenon_request_logprobs(request.get(), &drawn, nullptr, nullptr, 0));
    ASSERT_OK(tenon_session_next(by_hand.get(), greedy_.get(), &piece));
    const float* logits = nullptr;
    size_t count = 0;
    ASSERT_OK(tenon_session_drawn_logits(by_hand.get(), &logits, &count));
    const tenon_token tokens[] = {7, 300, 7, piece.token};
    float expected[4];
    ASSERT_OK(tenon_logprobs(logits, count, tokens, 4, expected, nullptr, nullptr, 0));
    for (int k = 0; k < 3; ++k) EXPECT_EQ(values[k], expected[k]);
    EXPECT_EQ(drawn, expected[3]);
  }
  EXPECT_OK(tenon_request_logprobs_of(request.get(), values, 1));
  expect_failure(tenon_request_logprobs_of(request.get(), values, 4), TENON_ERROR_ARGUMENT,
                 "3 were named");
  tenon_request* refused = nullptr;
  const tenon_token outside[] = {1 << 30};
  what.logprob_tokens = outside;
  what.num_logprob_tokens = 1;
  expect_failure(tenon_session_submit(session().get(), &what, &refused), TENON_ERROR_ARGUMENT,
                 "outside the vocabulary");
  what.num_logprob_tokens = 1001;
  what.logprob_tokens = nullptr;
  expect_failure(tenon_session_submit(session().get(), &what, &refused), TENON_ERROR_ARGUMENT,
                 "logprob_tokens is NULL");
}

TEST_F(CRequestStops, LogprobsMustBeAskedFor) {
  const SessionPtr of = session();
  tenon_submission what = submission(greedy_, 1);
  const RequestPtr request = submit(of, what);
  read(request);
  float logprob = 0;
  expect_failure(tenon_request_logprobs(request.get(), &logprob, nullptr, nullptr, 0),
                 TENON_ERROR_STATE, "without");
  what.num_top = 1001;
  tenon_request* refused = nullptr;
  expect_failure(tenon_session_submit(session().get(), &what, &refused), TENON_ERROR_ARGUMENT,
                 "num_top is 1001");
}

TEST_F(CRequestStops, CountsAreCheckedBeforeTheyAreUsed) {
  const SessionPtr of = session();
  tenon_submission what = submission(greedy_, 1);
  tenon_request* refused = nullptr;
  what.num_top = 100'000'000;  // 800 MB if allocated
  const double seconds = tenon::processor_seconds([&] {
    expect_failure(tenon_session_submit(of.get(), &what, &refused), TENON_ERROR_ARGUMENT,
                   "num_top is 100000000");
  });
  EXPECT_LE(seconds, 0.05);
  what.num_top = 0;
  const tenon_token one = 1;
  what.logprob_tokens = &one;
  what.num_logprob_tokens = uint64_t{1} << 40;
  expect_failure(tenon_session_submit(of.get(), &what, &refused), TENON_ERROR_ARGUMENT,
                 "num_logprob_tokens is 1099511627776");
  const float logits[] = {1, 2};
  float logprob = 0;
  tenon_token token = 7;
  expect_failure(tenon_logprobs(logits, 2, nullptr, 0, nullptr, &token, &logprob, 3),
                 TENON_ERROR_ARGUMENT, "the top 3 of 2");
  expect_failure(tenon_logprobs(logits, 2, &one, SIZE_MAX, &logprob, nullptr, nullptr, 0),
                 TENON_ERROR_ARGUMENT, "do not fit the address space");
  EXPECT_EQ(token, 7);
  EXPECT_EQ(logprob, 0);
}

TEST_F(CRequestStops, InCpp) {
  const tenon::Model model(TENON_DEMO_MODEL, {.threads = 2});
  tenon::Engine engine(model, {.cache_bytes = 32 << 20});
  tenon::Session session = engine.open_session({.context = 256});
  const tenon::Sampler greedy({.temperature = 0});
  tenon::Request request = tenon::submit(
      session,
      {.text = "Once upon", .logprobs = true, .num_top = 2, .sampler = &greedy, .max_tokens = 2});
  const auto piece = request.next();
  ASSERT_TRUE(piece);
  tenon::Token top[2];
  float top_logprobs[2];
  EXPECT_EQ(request.logprobs(top, top_logprobs), top_logprobs[0]);
  EXPECT_EQ(top[0], piece->token);
  EXPECT_THROW((void)request.logprobs(top), tenon::Error);
}

}  // namespace
