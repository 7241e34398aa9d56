// tenon_session_score, and Session::score over it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <atomic>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "demo_session.h"
#include "loading.h"

namespace {

using namespace tenon_test;

class CScore : public DemoSession {
 protected:
  /// Valid until the next call.
  tenon_continuations continuations(std::vector<const char*> texts) {
    texts_ = std::move(texts);
    auto given = sized<tenon_continuations>();
    given.count = texts_.size();
    given.texts = texts_.data();
    return given;
  }
  static std::vector<tenon_token> tokens_of(const char* text) {
    const tenon_tokenizer* tokenizer = nullptr;
    EXPECT_OK(tenon_model_tokenizer(model_->get(), &tokenizer));
    std::vector<tenon_token> tokens(64);
    size_t count = 0;
    EXPECT_OK(tenon_tokenizer_encode(tokenizer, text, TENON_NUL_TERMINATED, 0, tokens.data(),
                                     tokens.size(), &count));
    tokens.resize(count);
    return tokens;
  }
  /// Expected logprobs, from the calls of a session token by token.
  static std::vector<float> forced(const SessionPtr& session,
                                   const std::vector<tenon_token>& tokens) {
    tenon_session* raw = nullptr;
    EXPECT_OK(tenon_session_fork(session.get(), &raw));
    const SessionPtr fork(raw);
    std::vector<float> logprobs;
    for (const tenon_token token : tokens) {
      const float* logits = nullptr;
      size_t count = 0;
      EXPECT_OK(tenon_session_logits(fork.get(), &logits, &count));
      float logprob = 0;
      EXPECT_OK(tenon_logprobs(logits, count, &token, 1, &logprob, nullptr, nullptr, 0));
      logprobs.push_back(logprob);
      EXPECT_OK(tenon_session_append_tokens(fork.get(), &token, 1));
    }
    return logprobs;
  }

 private:
  std::vector<const char*> texts_;
};

const std::vector<const char*> kCities = {"Oslo.", "Oslo, in the north.", "Lima", "Paris",
                                          "The capital is Oslo."};

TEST_F(CScore, RefusesWhatCannotBeScored) {
  const SessionPtr s = session(kQuestion, 64);
  size_t count = 77;
  const auto fails = [&](const tenon_continuations& given, tenon_status status,
                         const std::string& text) {
    std::vector<float> room(4096);
    expect_failure(tenon_session_score(s.get(), &given, room.data(), room.size(), &count), status,
                   text);
    EXPECT_EQ(count, 77u);
  };
  fails(continuations({"Oslo", ""}), TENON_ERROR_ARGUMENT, "continuation 1 has no tokens");
  const std::string longer(2000, 'x');
  fails(continuations({longer.c_str()}), TENON_ERROR_LIMIT, "> context 64");
  tenon_continuations given = continuations({"Oslo"});
  given.flags = TENON_ADD_SPECIAL;
  fails(given, TENON_ERROR_ARGUMENT, "flags");
  given = continuations({"Oslo"});
  given.timeout_seconds = -1;
  fails(given, TENON_ERROR_ARGUMENT, "timeout_seconds");
  given.timeout_seconds = 1e-9;
  fails(given, TENON_ERROR_DEADLINE, "");
  const tenon_token bad = -5;
  const tenon_token* const place = &bad;
  const uint64_t one = 1;
  given = sized<tenon_continuations>();
  given.count = 1;
  fails(given, TENON_ERROR_ARGUMENT, "continuations.tokens is NULL");
  given.tokens = &place;
  given.num_tokens = &one;
  fails(given, TENON_ERROR_ARGUMENT, "token -5 of continuation 0");
  given = continuations({"Oslo"});
  expect_failure(tenon_session_score(s.get(), &given, nullptr, 4, &count), TENON_ERROR_ARGUMENT,
                 "logprobs is NULL");
  expect_failure(tenon_session_score(session().get(), &given, nullptr, 0, nullptr),
                 TENON_ERROR_ARGUMENT, "num_logprobs");
  std::vector<float> room(8);
  expect_failure(tenon_session_score(session().get(), &given, room.data(), room.size(), &count),
                 TENON_ERROR_STATE, "no tokens yet");
}

TEST_F(CScore, GivesTheBitsOfASessionTokenByToken) {
  const SessionPtr s = session(kQuestion);
  tenon_continuations given = continuations(kCities);
  std::vector<uint64_t> counts(kCities.size());
  given.num_logprobs = counts.data();
  size_t needed = 0;
  ASSERT_OK(tenon_session_score(s.get(), &given, nullptr, 0, &needed));
  std::vector<float> logprobs(needed);
  ASSERT_OK(tenon_session_score(s.get(), &given, logprobs.data(), needed, &needed));
  const float* next = logprobs.data();
  for (size_t i = 0; i < kCities.size(); ++i) {
    const std::vector<float> one(next, next + counts[i]);
    EXPECT_EQ(one, forced(s, tokens_of(kCities[i]))) << kCities[i];
    next += counts[i];
  }
  EXPECT_EQ(next, logprobs.data() + needed);
  // Scoring does not change the text.
  EXPECT_EQ(generate(s, 12).text, generate(session(kQuestion), 12).text);
}

TEST_F(CScore, CppTellsTextsAndTokens) {
  const tenon::Model model(TENON_DEMO_MODEL, {.threads = 2});
  tenon::Session session(model, {.context = 256});
  session.append(kQuestion, {.parse_special = true});
  const std::vector<std::string> texts = {"Oslo", "Lima", "The capital of Norway is Oslo."};
  const auto scores = session.score(texts);
  ASSERT_EQ(scores.size(), 3u);
  double sum = 0;
  for (const float logprob : scores[2].token_logprobs) sum += double{logprob};
  EXPECT_EQ(scores[2].logprob, sum);
  EXPECT_GT(scores[2].token_logprobs.size(), 3u);
  std::vector<std::vector<tenon::Token>> tokens;
  for (const std::string& text : texts) tokens.push_back(model.tokenizer().encode(text));
  const auto again = session.score(tokens);
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(again[i].logprob, scores[i].logprob);
  const std::vector<std::string> end = {"<|im_end|>"};
  EXPECT_EQ(session.score(end, {.parse_special = true})[0].token_logprobs.size(), 1u);
  EXPECT_GT(session.score(end)[0].token_logprobs.size(), 1u);
  EXPECT_TRUE(session.score(std::vector<std::string>{}).empty());
}

/// Clock that advances a second with each call.
struct SlowClock {
  std::atomic<uint64_t> now{0};
  static uint64_t now_ns(void* user) { return static_cast<SlowClock*>(user)->now += 1'000'000'000; }
};

TEST(CScoreTime, IsLookedAtWhileContinuationsAreRead) {
  SlowClock clock;
  tenon_callbacks callbacks = make_callbacks(&clock);
  callbacks.now_ns = SlowClock::now_ns;
  tenon_model* model = nullptr;
  ASSERT_OK(load_demo(callbacks, &model));
  tenon_session* session = nullptr;
  ASSERT_OK(tenon_session_create(model, nullptr, &session));
  ASSERT_OK(tenon_session_append_text(session, "Oslo", 4, 0));
  const std::vector<const char*> texts(100'000, "a");
  auto given = sized<tenon_continuations>();
  given.count = texts.size();
  given.texts = texts.data();
  std::vector<float> logprobs(2 * texts.size());
  size_t count = 0;
  // Computing the text alone takes a few calls of the clock.
  given.timeout_seconds = 80;
  EXPECT_EQ(tenon_session_score(session, &given, logprobs.data(), logprobs.size(), &count),
            TENON_ERROR_DEADLINE);
  given.timeout_seconds = 0;
  EXPECT_OK(tenon_session_score(session, &given, logprobs.data(), logprobs.size(), &count));
  tenon_session_destroy(session);
  tenon_model_destroy(model);
}

}  // namespace
