// Callbacks that throw, against the rules: the exception never enters the engine, nothing leaks,
// and the objects remain usable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/aligned_memory.h"
#include "handles.h"
#include "loading.h"

namespace {

using namespace tenon_test;

constexpr const char* kText = "Once upon a time";

/// State and behaviour of a host's callbacks.
struct Host {
  std::mutex mutex;
  std::vector<std::string> lines;
  std::vector<std::thread> threads;
  int calls = 0;
};

void log_line(void* user, uint32_t level, const char* text, uint64_t length) {
  if (level != TENON_LOG_ERROR) return;
  auto& host = *static_cast<Host*>(user);
  const std::scoped_lock lock(host.mutex);
  host.lines.emplace_back(text, length);
}

class Throwing : public testing::Test {
 protected:
  void SetUp() override {
    tenon_callbacks callbacks = make_callbacks(&host_);
    callbacks.log = log_line;
    tenon_model* model = nullptr;
    ASSERT_OK(load_demo(callbacks, &model));
    model_.reset(model);
    tenon_engine* engine = nullptr;
    ASSERT_OK(tenon_engine_create(model, nullptr, &engine));
    engine_.reset(engine);
  }
  SessionPtr open() {
    tenon_session* session = nullptr;
    EXPECT_OK(tenon_engine_open_session(engine_.get(), nullptr, &session));
    return SessionPtr(session);
  }
  tenon_submission submission() {
    auto what = sized<tenon_submission>();
    what.text = kText;
    what.text_length = TENON_NUL_TERMINATED;
    what.flags = TENON_IGNORE_END;
    what.sampler = greedy_.get();
    what.max_tokens = 8;
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
      const tenon_status status = tenon_request_wait(request.get(), -1, &piece);
      EXPECT_OK(status);
      if (status != TENON_OK) return text;
      text.append(piece.text, piece.length);
      if (piece.finish != TENON_FINISH_NONE) return text;
    }
  }
  std::string expected() {
    const SessionPtr session = open();
    return read(submit(session, submission()));
  }

  Host host_;
  ModelPtr model_;
  EnginePtr engine_;
  SamplerPtr greedy_ = make_greedy();
};

TEST_F(Throwing, PostLeavesTheWorkToThoseWhoWait) {
  const std::string text = expected();
  ASSERT_OK(tenon_engine_set_executor(
      engine_.get(), [](void*, void (*)(void*), void*) { throw std::runtime_error("post"); },
      nullptr));
  const SessionPtr session = open();
  EXPECT_EQ(read(submit(session, submission())), text);
  EXPECT_THAT(host_.lines, testing::Contains(testing::HasSubstr("callback post threw")));
}

TEST_F(Throwing, PostLeavesNoRequestThatOutlivesItsSession) {
  const std::string text = expected();
  ASSERT_OK(tenon_engine_set_executor(
      engine_.get(), [](void*, void (*)(void*), void*) { throw 42; }, nullptr));
  SessionPtr session = open();
  tenon_request* request = nullptr;
  const tenon_submission what = submission();
  EXPECT_OK(tenon_session_submit(session.get(), &what, &request));
  session.reset();
  auto stats = sized<tenon_engine_stats>();
  ASSERT_OK(tenon_engine_get_stats(engine_.get(), &stats));
  EXPECT_EQ(stats.waiting + stats.running, 0u);
  EXPECT_EQ(expected(), text) << "another session";
  tenon_request_destroy(request);
}

TEST_F(Throwing, PostIsTriedAgainWithTheNextRequest) {
  ASSERT_OK(tenon_engine_set_executor(
      engine_.get(),
      [](void* user, void (*task)(void*), void* arg) {
        auto& host = *static_cast<Host*>(user);
        if (++host.calls == 1) throw 42;
        task(arg);  // within this call
      },
      &host_));
  const SessionPtr first = open();
  const SessionPtr second = open();
  const RequestPtr waiting = submit(first, submission());
  const RequestPtr request = submit(second, submission());
  EXPECT_EQ(host_.calls, 2);
  for (const RequestPtr* done : {&waiting, &request}) {
    auto piece = sized<tenon_piece>();
    EXPECT_OK(tenon_request_wait(done->get(), 0, &piece));
    EXPECT_NE(piece.token, TENON_NO_TOKEN) << "computed by the task";
  }
}

TEST_F(Throwing, PostThatRanTheTaskAndThenThrewIsHarmless) {
  const std::string text = expected();
  ASSERT_OK(tenon_engine_set_executor(
      engine_.get(),
      [](void*, void (*task)(void*), void* arg) {
        task(arg);
        throw 42;
      },
      nullptr));
  for (int i = 0; i < 2; ++i) {
    const SessionPtr session = open();
    EXPECT_EQ(read(submit(session, submission())), text);
  }
}

TEST_F(Throwing, NotifyFailsNoWaitAndHangsNoDestroy) {
  const std::string text = expected();
  tenon_submission what = submission();
  what.notify = [](void* user) {
    ++static_cast<Host*>(user)->calls;
    throw std::runtime_error("notify");
  };
  what.user = &host_;
  const SessionPtr session = open();
  const SessionPtr innocent = open();
  RequestPtr request = submit(session, what);
  EXPECT_EQ(read(submit(innocent, submission())), text) << "led the steps of both";
  EXPECT_EQ(read(request), text);
  EXPECT_GT(host_.calls, 0);
  request.reset();
  EXPECT_THAT(host_.lines, testing::Contains(testing::HasSubstr("callback notify threw")));
  EXPECT_OK(tenon_session_rewind(session.get(), 0)) << "not in use any more";
}

TEST_F(Throwing, CallbacksOfACallEndItWithArgument) {
  const SessionPtr session = open();
  ASSERT_OK(tenon_session_append_text(session.get(), kText, 16, 0));
  expect_failure(tenon_session_prefill(
                     session.get(), [](void*, double) -> int32_t { throw 1; }, nullptr),
                 TENON_ERROR_ARGUMENT, "progress threw");
  expect_failure(tenon_session_generate(
                     session.get(), greedy_.get(), 4,
                     [](void*, const tenon_piece*) -> int32_t { throw 1; }, nullptr),
                 TENON_ERROR_ARGUMENT, "on_piece threw");
  const tenon_token tokens[] = {5, 6, 7};
  expect_failure(tenon_session_evaluate(
                     session.get(), tokens, 3,
                     [](void*, uint64_t, const float*, uint64_t) -> int32_t { throw 1; }, nullptr),
                 TENON_ERROR_ARGUMENT, "on_logits threw");
  expect_failure(tenon_session_best_of(
                     session.get(), greedy_.get(), 2, 4,
                     [](void*, const tenon_candidate*) -> int32_t { throw 1; }, nullptr, nullptr),
                 TENON_ERROR_ARGUMENT, "on_candidate threw");
  EXPECT_OK(tenon_session_generate(session.get(), greedy_.get(), 4, nullptr, nullptr));
}

TEST(ThrowingModel, MemoryIsNoMemoryAndAClockThatFailsIsReplaced) {
  tenon_callbacks callbacks = make_callbacks(nullptr);
  callbacks.now_ns = [](void*) -> uint64_t { throw 1; };
  tenon_model* model = nullptr;
  ASSERT_OK(load_demo(callbacks, &model));
  tenon_model_destroy(model);
  callbacks.allocate = [](void*, uint64_t, uint64_t) -> void* { throw 1; };
  callbacks.release = [](void*, void*, uint64_t, uint64_t) { throw 1; };
  tenon_model* untouched = nullptr;
  expect_failure(load_demo(callbacks, &untouched), TENON_ERROR_NO_MEMORY, "");
  EXPECT_EQ(untouched, nullptr);
}

// No exception, but the same barrier: a task may outlive all handles.
TEST(PostedTask, KeepsWhatTheEngineUsesOfItsHost) {
  struct Tasks {
    int blocks = 0;
    void (*task)(void*) = nullptr;
    void* arg = nullptr;
  } tasks;
  tenon_callbacks callbacks = make_callbacks(&tasks);
  callbacks.allocate = [](void* user, uint64_t size, uint64_t alignment) -> void* {
    ++static_cast<Tasks*>(user)->blocks;
    return tenon::allocate_aligned(size, alignment);
  };
  callbacks.release = [](void* user, void* memory, uint64_t, uint64_t) {
    if (memory != nullptr) --static_cast<Tasks*>(user)->blocks;
    tenon::free_aligned(memory);
  };
  tenon_model* model = nullptr;
  ASSERT_OK(load_demo(callbacks, &model));
  tenon_engine* engine = nullptr;
  ASSERT_OK(tenon_engine_create(model, nullptr, &engine));
  ASSERT_OK(tenon_engine_set_executor(
      engine,
      [](void* user, void (*task)(void*), void* arg) {
        static_cast<Tasks*>(user)->task = task;
        static_cast<Tasks*>(user)->arg = arg;
      },
      &tasks));
  tenon_session* session = nullptr;
  ASSERT_OK(tenon_engine_open_session(engine, nullptr, &session));
  auto what = sized<tenon_submission>();
  what.text = kText;
  what.text_length = 16;
  tenon_request* request = nullptr;
  ASSERT_OK(tenon_session_submit(session, &what, &request));
  ASSERT_OK(tenon_engine_set_executor(engine, nullptr, nullptr));
  tenon_request_destroy(request);
  tenon_session_destroy(session);
  tenon_engine_destroy(engine);
  tenon_model_destroy(model);
  ASSERT_NE(tasks.task, nullptr);
  tasks.task(tasks.arg);
  EXPECT_EQ(tasks.blocks, 0);
}

}  // namespace
