#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "demo_session.h"

namespace {

using namespace tenon_test;

class CSession : public DemoSession {
 protected:
  static uint64_t position(const SessionPtr& of) {
    uint64_t value = 0;
    EXPECT_OK(tenon_session_position(of.get(), &value));
    return value;
  }

  static std::vector<float> logits(const SessionPtr& of) {
    const float* data = nullptr;
    size_t count = 0;
    EXPECT_OK(tenon_session_logits(of.get(), &data, &count));
    return {data, data + count};
  }
};

TEST_F(CSession, AnswersAndEndsWithTheTurn) {
  const SessionPtr s = session(kQuestion);
  const Seen seen = generate(s, 40);
  EXPECT_NE(seen.text.find("Oslo"), std::string::npos) << seen.text;
  EXPECT_EQ(seen.finishes.back(), TENON_FINISH_END);
  for (size_t i = 0; i + 1 < seen.finishes.size(); ++i) EXPECT_EQ(seen.finishes[i], 0);
  EXPECT_EQ(seen.text.find("im_end"), std::string::npos);
}

TEST_F(CSession, GenerateAndNextAgree) {
  const SessionPtr a = session("Once upon a time");
  const SessionPtr b = session("Once upon a time");
  const Seen seen = generate(a, 20);
  ASSERT_EQ(seen.tokens.size(), 20u);
  EXPECT_EQ(seen.finishes.back(), TENON_FINISH_MAX_TOKENS);
  std::string text;
  for (size_t i = 0; i < 20; ++i) {
    auto piece = sized<tenon_piece>();
    ASSERT_OK(tenon_session_next(b.get(), greedy_.get(), &piece));
    EXPECT_EQ(piece.token, seen.tokens[i]);
    text.append(piece.text, piece.length);
  }
  EXPECT_EQ(text, seen.text);
}

TEST_F(CSession, GenerationGoesOnWhereItStopped) {
  const Seen whole = generate(session("Once upon a time"), 24);
  const SessionPtr s = session("Once upon a time");
  std::string text;
  for (int i = 0; i < 6; ++i) text += generate(s, 4).text;
  EXPECT_EQ(text, whole.text);
}

TEST_F(CSession, TheCallbackCanStop) {
  const SessionPtr s = session("Once upon a time");
  const uint64_t before = position(s);
  Seen seen;
  seen.stop_after = 3;
  ASSERT_OK(tenon_session_generate(s.get(), greedy_.get(), 20, record, &seen));
  EXPECT_EQ(seen.tokens.size(), 3u);
  EXPECT_EQ(position(s), before + 3);
}

TEST_F(CSession, WithoutACallbackTheTextGrowsAllTheSame) {
  const SessionPtr s = session("Once upon a time");
  const uint64_t before = position(s);
  ASSERT_OK(tenon_session_generate(s.get(), nullptr, 5, nullptr, nullptr));
  EXPECT_EQ(position(s), before + 5);
}

TEST_F(CSession, PiecesAreWholeCharacters) {
  // A high temperature, so that bytes of all kinds occur.
  const OptionsPtr options = make_options();
  ASSERT_OK(tenon_options_set_float(options.get(), "temperature", 50));
  ASSERT_OK(tenon_options_set_int(options.get(), "top_k", 0));
  ASSERT_OK(tenon_options_set_float(options.get(), "top_p", 1));
  ASSERT_OK(tenon_options_set_float(options.get(), "min_p", 0));
  tenon_sampler* raw = nullptr;
  ASSERT_OK(tenon_sampler_create(options.get(), &raw));
  const SamplerPtr wild(raw);
  const SessionPtr s = session("x");
  Seen seen;
  for (int i = 0; i < 8 && position(s) < 200; ++i) {
    ASSERT_OK(tenon_session_generate(s.get(), wild.get(), 20, record, &seen));
  }
  // The tokenizer leaves well-formed UTF-8 unchanged.
  const tenon_tokenizer* tokenizer = nullptr;
  ASSERT_OK(tenon_model_tokenizer(model_->get(), &tokenizer));
  size_t count = 0;
  ASSERT_OK(
      tenon_tokenizer_encode(tokenizer, seen.text.data(), seen.text.size(), 0, nullptr, 0, &count));
  std::vector<tenon_token> tokens(count);
  ASSERT_OK(tenon_tokenizer_encode(tokenizer, seen.text.data(), seen.text.size(), 0, tokens.data(),
                                   count, &count));
  std::string again(seen.text.size() * 2 + 16, '\0');
  size_t length = 0;
  ASSERT_OK(tenon_tokenizer_decode(tokenizer, tokens.data(), count, 0, again.data(), again.size(),
                                   &length));
  again.resize(length);
  EXPECT_EQ(again, seen.text);
}

TEST_F(CSession, ContextLimitSaysBothNumbers) {
  const SessionPtr s = session("", 8);
  const std::vector<tenon_token> nine(9, 5);
  expect_failure(tenon_session_append_tokens(s.get(), nine.data(), nine.size()), TENON_ERROR_LIMIT,
                 "tokens 9 > context 8");
  EXPECT_EQ(position(s), 0u);
  ASSERT_OK(tenon_session_append_tokens(s.get(), nine.data(), 8));
  auto piece = sized<tenon_piece>();
  expect_failure(tenon_session_next(s.get(), greedy_.get(), &piece), TENON_ERROR_LIMIT,
                 "tokens 9 > context 8");
  EXPECT_EQ(piece.text, nullptr);
  expect_failure(tenon_session_generate(s.get(), greedy_.get(), 0, nullptr, nullptr),
                 TENON_ERROR_LIMIT, "tokens 9 > context 8");
  EXPECT_EQ(position(s), 8u);
}

TEST_F(CSession, ZeroMaxTokensFillsTheContext) {
  const SessionPtr s = session("Once upon a time", 16);
  Seen seen;
  ASSERT_OK(tenon_session_generate(s.get(), greedy_.get(), 0, record, &seen));
  EXPECT_EQ(position(s), 16u);
  EXPECT_EQ(seen.finishes.back(), TENON_FINISH_MAX_TOKENS);
}

TEST_F(CSession, ContextIsTheOneAskedFor) {
  uint64_t context = 0;
  ASSERT_OK(tenon_session_context(session("", 100).get(), &context));
  EXPECT_EQ(context, 100u);
  ASSERT_OK(tenon_session_context(session("", 0).get(), &context));
  EXPECT_EQ(context, 1024u);
}

TEST_F(CSession, TokensOutsideTheVocabularyAreRefused) {
  const SessionPtr s = session("Once");
  const uint64_t before = position(s);
  for (const tenon_token bad : {-1, 1024, INT32_MAX, INT32_MIN}) {
    const tenon_token tokens[] = {1, bad};
    EXPECT_EQ(tenon_session_append_tokens(s.get(), tokens, 2), TENON_ERROR_ARGUMENT);
    EXPECT_EQ(
        tenon_session_evaluate(
            s.get(), tokens, 2, [](void*, uint64_t, const float*, uint64_t) { return 0; }, nullptr),
        TENON_ERROR_ARGUMENT);
  }
  EXPECT_EQ(position(s), before);
}

TEST_F(CSession, EmptyTextHasNoLogits) {
  const SessionPtr s = session();
  const float* data = nullptr;
  size_t count = 77;
  EXPECT_EQ(tenon_session_logits(s.get(), &data, &count), TENON_ERROR_STATE);
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(count, 77u);
  auto piece = sized<tenon_piece>();
  EXPECT_EQ(tenon_session_next(s.get(), nullptr, &piece), TENON_ERROR_STATE);
}

TEST_F(CSession, EvaluateGivesTheLogitsOfEveryPosition) {
  const tenon_token tokens[] = {10, 20, 30, 40, 50};
  std::vector<std::vector<float>> rows;
  const SessionPtr all = session();
  ASSERT_OK(tenon_session_evaluate(
      all.get(), tokens, 5,
      [](void* user, uint64_t row, const float* logits, uint64_t vocabulary) {
        auto& out = *static_cast<std::vector<std::vector<float>>*>(user);
        EXPECT_EQ(row, out.size());
        EXPECT_EQ(vocabulary, 1024u);
        out.emplace_back(logits, logits + vocabulary);
        return 0;
      },
      &rows));
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(position(all), 5u);
  const SessionPtr one = session();
  for (size_t i = 0; i < 5; ++i) {
    ASSERT_OK(tenon_session_append_tokens(one.get(), &tokens[i], 1));
    EXPECT_EQ(logits(one), rows[i]) << i;  // bitwise equal
  }
}

TEST_F(CSession, EvaluateCanBeCancelledByItsCallback) {
  const tenon_token tokens[] = {10, 20, 30};
  const SessionPtr s = session();
  size_t calls = 0;
  expect_failure(tenon_session_evaluate(
                     s.get(), tokens, 3,
                     [](void* user, uint64_t, const float*, uint64_t) {
                       return static_cast<int32_t>(++*static_cast<size_t*>(user) >= 2);
                     },
                     &calls),
                 TENON_ERROR_CANCELLED, "");
  EXPECT_EQ(calls, 2u);
  expect_failure(tenon_session_evaluate(s.get(), tokens, 3, nullptr, nullptr), TENON_ERROR_ARGUMENT,
                 "on_logits is NULL");
}

TEST_F(CSession, ForkGoesOnAloneAndRewindGoesBack) {
  const SessionPtr a = session("Once upon a time");
  const uint64_t start = position(a);
  const Seen first = generate(a, 10);
  tenon_session* raw = nullptr;
  ASSERT_OK(tenon_session_fork(a.get(), &raw));
  const SessionPtr b(raw);
  EXPECT_EQ(position(b), start + 10);
  EXPECT_EQ(generate(a, 10).tokens, generate(b, 10).tokens);

  ASSERT_OK(tenon_session_rewind(b.get(), start));
  EXPECT_EQ(position(b), start);
  EXPECT_EQ(generate(b, 10).tokens, first.tokens);
  expect_failure(tenon_session_rewind(b.get(), start + 11), TENON_ERROR_ARGUMENT, "rewind");
  EXPECT_EQ(position(b), start + 10);
  EXPECT_EQ(position(a), start + 20);
}

TEST_F(CSession, OtherTokensAfterARewindGiveOtherLogits) {
  const SessionPtr a = session();
  const SessionPtr b = session();
  const tenon_token first[] = {10, 20, 30};
  const tenon_token second[] = {10, 99, 98};
  ASSERT_OK(tenon_session_append_tokens(a.get(), first, 3));
  const std::vector<float> of_first = logits(a);
  ASSERT_OK(tenon_session_rewind(a.get(), 1));
  ASSERT_OK(tenon_session_append_tokens(a.get(), second + 1, 2));
  ASSERT_OK(tenon_session_append_tokens(b.get(), second, 3));
  EXPECT_EQ(logits(a), logits(b));
  EXPECT_NE(logits(a), of_first);
}

TEST_F(CSession, TokensAreTheText) {
  const SessionPtr s = session("Once upon a time");
  const uint64_t start = position(s);
  const Seen seen = generate(s, 4);
  const tenon_token* tokens = nullptr;
  size_t count = 0;
  ASSERT_OK(tenon_session_tokens(s.get(), &tokens, &count));
  ASSERT_EQ(count, start + 4);
  EXPECT_TRUE(std::equal(seen.tokens.begin(), seen.tokens.end(), tokens + start));
}

TEST_F(CSession, FiguresCountWhatWasComputed) {
  const SessionPtr s = session("Once upon a time");
  const uint64_t prompt = position(s);
  generate(s, 5);
  (void)logits(s);
  auto stats = sized<tenon_session_stats>();
  ASSERT_OK(tenon_session_get_stats(s.get(), &stats));
  EXPECT_EQ(stats.prefill_tokens, prompt);
  EXPECT_EQ(stats.decode_tokens, 5u);
  EXPECT_GT(stats.prefill_seconds, 0.0);
  EXPECT_GT(stats.decode_seconds, 0.0);
}

TEST_F(CSession, PrefillTellsProgressAndCanCancel) {
  const SessionPtr s = session(std::string(600, 'a'), 1024);
  expect_failure(tenon_session_prefill(
                     s.get(), [](void*, double) { return int32_t{1}; }, nullptr),
                 TENON_ERROR_CANCELLED, "");
  std::vector<double> seen;
  ASSERT_OK(tenon_session_prefill(
      s.get(),
      [](void* user, double fraction) {
        static_cast<std::vector<double>*>(user)->push_back(fraction);
        return int32_t{0};
      },
      &seen));
  ASSERT_FALSE(seen.empty());
  EXPECT_DOUBLE_EQ(seen.back(), 1.0);
  // After a cancel and a retry, the logits equal those of a session that was never cancelled.
  const SessionPtr other = session(std::string(600, 'a'), 1024);
  EXPECT_EQ(logits(s), logits(other));
}

TEST_F(CSession, CancelBeforeACallEndsItOnce) {
  const SessionPtr s = session("Once upon a time");
  ASSERT_OK(tenon_session_cancel(s.get()));
  auto piece = sized<tenon_piece>();
  EXPECT_EQ(tenon_session_next(s.get(), greedy_.get(), &piece), TENON_ERROR_CANCELLED);
  EXPECT_OK(tenon_session_next(s.get(), greedy_.get(), &piece));
}

TEST_F(CSession, CancelFromAnotherThreadEndsGenerate) {
  const SessionPtr s = session("Once upon a time", 1024);
  // Only the context ends this generation, later than the cancel.
  const tenon_tokenizer* tokenizer = nullptr;
  ASSERT_OK(tenon_model_tokenizer(model_->get(), &tokenizer));
  for (tenon_token token = 0; token < 1024; ++token) {
    auto details = sized<tenon_token_info>();
    ASSERT_OK(tenon_tokenizer_token_info(tokenizer, token, &details));
    if ((details.attributes & TENON_TOKEN_END) != 0) {
      ASSERT_OK(tenon_sampler_set_bias(greedy_.get(), token, -INFINITY));
    }
  }
  struct Shared {
    std::atomic<bool> started{false};
    std::atomic<bool> cancelled{false};
  } shared;
  std::thread canceller([&] {
    while (!shared.started) std::this_thread::yield();
    EXPECT_OK(tenon_session_cancel(s.get()));
    shared.cancelled = true;
  });
  const tenon_status status = tenon_session_generate(
      s.get(), greedy_.get(), 900,
      [](void* user, const tenon_piece*) {
        auto* state = static_cast<Shared*>(user);
        state->started = true;
        while (!state->cancelled) std::this_thread::yield();
        return int32_t{0};
      },
      &shared);
  canceller.join();
  EXPECT_STREQ(tenon_status_name(status), "CANCELLED") << tenon_last_error();
  EXPECT_LT(position(s), 20u);
  EXPECT_OK(tenon_session_generate(s.get(), greedy_.get(), 2, nullptr, nullptr));
}

TEST_F(CSession, CallbacksMayCancelAndDestroyButNotCallBack) {
  struct State {
    tenon_session* session;
    tenon_status before = TENON_OK;  // the handle is destroyed
    tenon_status after = TENON_OK;
  } state{session("Once upon a time").release()};
  // The destroy takes effect at the end of generate; the sanitizers find leaks and use after free.
  EXPECT_OK(tenon_session_generate(
      state.session, greedy_.get(), 3,
      [](void* user, const tenon_piece* piece) {
        auto* s = static_cast<State*>(user);
        uint64_t position = 0;
        if (s->before == TENON_OK) s->before = tenon_session_position(s->session, &position);
        if (piece->finish == TENON_FINISH_NONE) tenon_session_destroy(s->session);
        s->after = tenon_session_position(s->session, &position);
        return int32_t{0};
      },
      &state));
  EXPECT_STREQ(tenon_status_name(state.before), "STATE");
  EXPECT_STREQ(tenon_status_name(state.after), "ARGUMENT");

  const SessionPtr s = session("Once upon a time");
  tenon_session* raw = s.get();
  EXPECT_EQ(tenon_session_generate(
                raw, greedy_.get(), 3,
                [](void* user, const tenon_piece*) {
                  EXPECT_OK(tenon_session_cancel(static_cast<tenon_session*>(user)));
                  return int32_t{0};
                },
                raw),
            TENON_ERROR_CANCELLED);
}

TEST_F(CSession, ACallbackThatThrowsIsAnArgumentErrorAndLeavesTheSessionUsable) {
  const SessionPtr s = session("Once upon a time");
  expect_failure(tenon_session_generate(
                     s.get(), greedy_.get(), 3,
                     [](void*, const tenon_piece*) -> int32_t { throw 42; }, nullptr),
                 TENON_ERROR_ARGUMENT, "callback on_piece threw");
  EXPECT_OK(tenon_session_generate(s.get(), greedy_.get(), 3, nullptr, nullptr));
}

TEST_F(CSession, ASecondThreadIsRefused) {
  const SessionPtr s = session("Once upon a time");
  struct State {
    tenon_session* session;
    tenon_status other = TENON_OK;
  } state{s.get()};
  ASSERT_OK(tenon_session_generate(
      s.get(), greedy_.get(), 1,
      [](void* user, const tenon_piece*) {
        auto* shared = static_cast<State*>(user);
        std::thread([&] {
          shared->other = tenon_session_append_text(shared->session, "x", 1, 0);
        }).join();
        return int32_t{0};
      },
      &state));
  EXPECT_STREQ(tenon_status_name(state.other), "STATE");
}

TEST_F(CSession, ManyThreadsGetWhatOneGets) {
  const std::vector<std::string> prompts{"Once upon a time", "The capital of Norway is", "A",
                                         "Lily"};
  std::vector<Seen> alone;
  for (const std::string& prompt : prompts) alone.push_back(generate(session(prompt), 24));
  std::vector<Seen> together(prompts.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < prompts.size(); ++i) {
    threads.emplace_back([&, i] {
      const SamplerPtr greedy = make_greedy();
      const SessionPtr s = session(prompts[i]);
      EXPECT_OK(tenon_session_generate(s.get(), greedy.get(), 24, record, &together[i]));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < prompts.size(); ++i) EXPECT_EQ(together[i].tokens, alone[i].tokens) << i;
}

TEST_F(CSession, OutlivesItsModelHandle) {
  ModelPtr model = open_demo();
  const SessionPtr s = make_session(model, 64);
  model.reset();
  ASSERT_OK(tenon_session_append_text(s.get(), "Once upon a time", 16, 0));
  EXPECT_EQ(generate(s, 5).tokens.size(), 5u);
}

TEST_F(CSession, SamplerOfAnotherKindIsRefusedBeforeAnythingIsDrawn) {
  const SessionPtr s = session("Once");
  const uint64_t before = position(s);
  auto piece = sized<tenon_piece>();
  expect_failure(tenon_session_next(s.get(), reinterpret_cast<tenon_sampler*>(s.get()), &piece),
                 TENON_ERROR_ARGUMENT, "sampler handle");
  expect_failure(tenon_session_next(s.get(), greedy_.get(), nullptr), TENON_ERROR_ARGUMENT,
                 "tenon_piece is NULL");
  EXPECT_EQ(position(s), before);
}

}  // namespace
