// Engines and requests over the C interface: a server's use of them, and refusals.
#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <numeric>
#include <string>
#include <tenon/tenon.hpp>
#include <thread>

#include "handles.h"

namespace {

using namespace tenon_test;

class Engines : public testing::Test {
 protected:
  static void SetUpTestSuite() { model_ = new ModelPtr(open_demo()); }
  static void TearDownTestSuite() {
    delete model_;
    model_ = nullptr;
  }
  EnginePtr make(int64_t queue = 1024) {
    const OptionsPtr options = make_options();
    EXPECT_OK(tenon_options_set_int(options.get(), "cache_bytes", 32 << 20));
    EXPECT_OK(tenon_options_set_int(options.get(), "queue", queue));
    tenon_engine* engine = nullptr;
    EXPECT_OK(tenon_engine_create(model_->get(), options.get(), &engine));
    return EnginePtr(engine);
  }
  static SessionPtr open(const EnginePtr& engine) {
    tenon_session* session = nullptr;
    EXPECT_OK(tenon_engine_open_session(engine.get(), nullptr, &session));
    return SessionPtr(session);
  }
  tenon_submission submission(uint64_t max_tokens = 12) {
    auto what = sized<tenon_submission>();
    what.text = "Once upon a time";
    what.text_length = TENON_NUL_TERMINATED;
    what.flags = TENON_ADD_SPECIAL;
    what.sampler = greedy_.get();
    what.max_tokens = max_tokens;
    return what;
  }
  static RequestPtr submit(const SessionPtr& session, const tenon_submission& what) {
    tenon_request* request = nullptr;
    EXPECT_OK(tenon_session_submit(session.get(), &what, &request));
    return RequestPtr(request);
  }
  static std::string read(const RequestPtr& request) {
    std::string text;
    for (;;) {
      auto piece = sized<tenon_piece>();
      EXPECT_OK(tenon_request_wait(request.get(), -1, &piece));
      text.append(piece.text, piece.length);
      if (piece.finish != TENON_FINISH_NONE) return text;
    }
  }
  /// Expected text, from the calls of a plain session.
  std::string by_hand(uint64_t max_tokens = 12) {
    const SessionPtr session = make_session(*model_);
    EXPECT_OK(tenon_session_append_text(session.get(), "Once upon a time", 16, TENON_ADD_SPECIAL));
    std::string text;
    EXPECT_OK(tenon_session_generate(
        session.get(), greedy_.get(), max_tokens,
        [](void* user, const tenon_piece* piece) {
          static_cast<std::string*>(user)->append(piece->text, piece->length);
          return 0;
        },
        &text));
    return text;
  }

  static ModelPtr* model_;
  SamplerPtr greedy_ = make_greedy();
};
ModelPtr* Engines::model_ = nullptr;

TEST_F(Engines, AnswerAsASessionDoesAndGoOn) {
  const EnginePtr engine = make();
  const SessionPtr session = open(engine);
  const std::string all = by_hand(20);
  const RequestPtr request = submit(session, submission());
  std::string text = read(request);
  EXPECT_EQ(text, all.substr(0, text.size()));
  auto piece = sized<tenon_piece>();
  ASSERT_OK(tenon_request_wait(request.get(), -1, &piece));
  EXPECT_EQ(piece.token, TENON_NO_TOKEN);
  EXPECT_EQ(piece.finish, TENON_FINISH_MAX_TOKENS);
  for (int i = 0; i < 8; ++i) {  // continues the same character stream
    ASSERT_OK(tenon_session_next(session.get(), greedy_.get(), &piece));
    text.append(piece.text, piece.length);
  }
  EXPECT_EQ(text, all);
}

TEST_F(Engines, ServeManySessionsFromALentThread) {
  const EnginePtr engine = make();
  std::thread server([&] { EXPECT_OK(tenon_engine_run(engine.get())); });
  std::vector<SessionPtr> sessions;
  std::vector<RequestPtr> requests;
  for (int i = 0; i < 8; ++i) {
    sessions.push_back(open(engine));
    requests.push_back(submit(sessions.back(), submission()));
  }
  for (const RequestPtr& request : requests) EXPECT_EQ(read(request), by_hand());
  auto stats = sized<tenon_engine_stats>();
  ASSERT_OK(tenon_engine_get_stats(engine.get(), &stats));
  EXPECT_EQ(stats.finished, 8u);
  EXPECT_EQ(stats.generated_tokens, 96u);
  EXPECT_EQ(stats.kv_limit_bytes, 32u << 20);
  const auto sum = [](const uint64_t(&counts)[TENON_HISTOGRAM_COUNTS]) {
    return std::accumulate(std::begin(counts), std::end(counts), uint64_t{0});
  };
  EXPECT_EQ(sum(stats.first_token_counts), 8u);
  EXPECT_EQ(sum(stats.token_gap_counts), 96u - 8u);
  EXPECT_EQ(sum(stats.request_counts), 8u);
  EXPECT_GT(stats.first_token_seconds, 0);
  EXPECT_GE(stats.request_seconds, stats.first_token_seconds);
  ASSERT_OK(tenon_engine_stop(engine.get()));
  server.join();
  size_t length = 0;
  ASSERT_OK(tenon_engine_stats_text(engine.get(), nullptr, 0, &length));
  std::string text(length, ' ');
  ASSERT_OK(tenon_engine_stats_text(engine.get(), text.data(), length, &length));
  EXPECT_NE(text.find("\ntenon_requests_finished_total 8\n"), text.npos) << text;
  EXPECT_NE(text.find("tenon_time_to_first_token_seconds_bucket{le=\"+Inf\"} 8\n"), text.npos);
}

TEST_F(Engines, DoNotNotifyOnceTheRequestIsDestroyed) {
  struct Host {
    std::atomic<bool> called{false};
    std::atomic<bool> gone{false};
    std::atomic<bool> late{false};
    static void notify(void* user) {
      auto& host = *static_cast<Host*>(user);
      host.called = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      if (host.gone) host.late = true;
    }
  };
  const EnginePtr engine = make();
  std::thread lent([&engine] { EXPECT_OK(tenon_engine_run(engine.get())); });
  for (int i = 0; i < 10; ++i) {
    Host host;
    const SessionPtr session = open(engine);
    tenon_submission what = submission();
    what.notify = Host::notify;
    what.user = &host;
    RequestPtr request = submit(session, what);
    while (!host.called) std::this_thread::yield();
    request.reset();
    host.gone = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
    EXPECT_FALSE(host.late) << i;
  }
  EXPECT_OK(tenon_engine_stop(engine.get()));
  lent.join();
}

TEST_F(Engines, PollWithoutComputing) {
  const EnginePtr engine = make();
  const SessionPtr session = open(engine);
  const RequestPtr request = submit(session, submission(2));
  auto piece = sized<tenon_piece>();
  ASSERT_OK(tenon_request_wait(request.get(), 0, &piece));
  EXPECT_EQ(piece.token, TENON_NO_TOKEN);
  EXPECT_EQ(piece.finish, TENON_FINISH_NONE);
  int32_t worked = 1;
  while (worked != 0) ASSERT_OK(tenon_engine_step(engine.get(), &worked));
  ASSERT_OK(tenon_request_wait(request.get(), 0, &piece));
  EXPECT_NE(piece.token, TENON_NO_TOKEN);
  ASSERT_OK(tenon_request_wait(request.get(), 0.001, &piece));
  EXPECT_EQ(piece.finish, TENON_FINISH_MAX_TOKENS);
}

TEST_F(Engines, KeepTheSessionForTheRequest) {
  const EnginePtr engine = make();
  const SessionPtr session = open(engine);
  const RequestPtr request = submit(session, submission());
  uint64_t position = 77;
  expect_failure(tenon_session_position(session.get(), &position), TENON_ERROR_STATE, "request");
  EXPECT_EQ(position, 77u);
  ASSERT_OK(tenon_request_cancel(request.get()));
  auto piece = sized<tenon_piece>();
  expect_failure(tenon_request_wait(request.get(), -1, &piece), TENON_ERROR_CANCELLED, "cancelled");
  EXPECT_OK(tenon_session_position(session.get(), &position));
  EXPECT_OK(tenon_request_cancel(request.get()));
}

TEST_F(Engines, SessionsAndHandlesGoInAnyOrder) {
  EnginePtr engine = make();
  SessionPtr session = open(engine);
  RequestPtr request = submit(session, submission());
  engine.reset();
  session.reset();
  auto piece = sized<tenon_piece>();
  expect_failure(tenon_request_wait(request.get(), -1, &piece), TENON_ERROR_CANCELLED, "cancelled");
  engine = make();
  session = open(engine);
  request = submit(session, submission());
  request.reset();  // cancels
  uint64_t position = 0;
  EXPECT_OK(tenon_session_position(session.get(), &position));
}

TEST_F(Engines, AnswerBusyWithNothingAppended) {
  const EnginePtr engine = make(1);
  const SessionPtr first = open(engine);
  const SessionPtr second = open(engine);
  const RequestPtr request = submit(first, submission());
  const tenon_submission what = submission();
  tenon_request* refused = nullptr;
  expect_failure(tenon_session_submit(second.get(), &what, &refused), TENON_ERROR_BUSY,
                 "limit is 1");
  EXPECT_EQ(refused, nullptr);
  uint64_t position = 1;
  ASSERT_OK(tenon_session_position(second.get(), &position));
  EXPECT_EQ(position, 0u);
}

TEST_F(Engines, RefuseNonsense) {
  const EnginePtr engine = make();
  const SessionPtr session = open(engine);
  tenon_request* request = nullptr;
  const auto refused = [&](const tenon_submission& what, const char* text) {
    expect_failure(tenon_session_submit(session.get(), &what, &request), TENON_ERROR_ARGUMENT,
                   text);
  };
  tenon_submission what = submission();
  what.timeout_seconds = -1;
  refused(what, "timeout_seconds");
  what.timeout_seconds = std::nan("");
  refused(what, "timeout_seconds");
  what = submission();
  what.weight = std::nan("");
  refused(what, "weight");
  what = submission();
  what.priority = 1001;
  what.has_priority = 1;
  refused(what, "priority");
  what = submission();
  what.flags = 1u << 20;
  refused(what, "flags");
  const tenon_token outside = 1 << 30;
  what = submission();
  what.tokens = &outside;
  what.num_tokens = 1;
  refused(what, "outside");
  uint64_t position = 1;
  ASSERT_OK(tenon_session_position(session.get(), &position));
  EXPECT_EQ(position, 0u);
}

TEST_F(Engines, SayWhatTheyReused) {
  const EnginePtr engine = make();
  std::string text = "Once upon a time";
  while (text.size() < 1000) text += " there was a little boat";
  for (const bool again : {false, true}) {
    const SessionPtr session = open(engine);
    tenon_submission what = submission(1);
    what.text = text.c_str();
    const RequestPtr request = submit(session, what);
    read(request);
    auto stats = sized<tenon_request_stats>();
    ASSERT_OK(tenon_request_get_stats(request.get(), &stats));
    EXPECT_EQ(stats.reused_tokens, again ? (stats.prompt_tokens - 1) / 32 * 32 : 0);
  }
}

// With progress, a prompt is computed slice by slice. In the second round, the first slices are
// cached.
TEST_F(Engines, PrefillInSlicesWhatWasComputedBefore) {
  const EnginePtr engine = make();
  std::string text;
  for (int i = 0; i < 450; ++i) text += "word ";
  const auto count = [](void* user, double) {
    ++*static_cast<int*>(user);
    return int32_t{0};
  };
  for (int round = 0; round < 2; ++round) {
    const SessionPtr session = open(engine);
    ASSERT_OK(tenon_session_append_text(session.get(), text.data(), text.size(), 0));
    int num_slices = 0;
    ASSERT_OK(tenon_session_prefill(session.get(), count, &num_slices));
    EXPECT_GT(num_slices, 1);
  }
}

TEST_F(Engines, FromCpp) {
  const tenon::Model model(TENON_DEMO_MODEL, {.threads = 2});
  tenon::Engine engine(model, {.cache_bytes = 32 << 20});
  tenon::Session session = engine.open_session({.context = 256});
  const tenon::Sampler greedy({.temperature = 0});
  tenon::Request request = tenon::submit(
      session,
      {.text = "Once upon a time", .add_special = true, .sampler = &greedy, .max_tokens = 12});
  std::string text;
  while (const auto piece = request.next()) text += piece->text;
  EXPECT_EQ(text, by_hand());
  EXPECT_EQ(request.stats().prompt_tokens, session.position() - 12);
  EXPECT_EQ(engine.stats().finished, 1u);
  EXPECT_FALSE(engine.step());
  EXPECT_NE(engine.stats_text().find("tenon_steps_total"), std::string::npos);
  engine.stop();
  engine.run();
}

}  // namespace
