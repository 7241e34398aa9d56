// Callbacks of the host: progress, memory, threads, log.
#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/aligned_memory.h"
#include "handles.h"
#include "loading.h"

namespace {

using namespace tenon_test;

struct Progress {
  std::vector<double> seen;
  double stop_at = 2;
};

int32_t record_progress(void* user, double fraction) {
  auto* progress = static_cast<Progress*>(user);
  progress->seen.push_back(fraction);
  return fraction >= progress->stop_at;
}

TEST(Host, ProgressRisesToOneAndCanCancel) {
  Progress progress;
  tenon_callbacks callbacks = make_callbacks(&progress);
  callbacks.progress = record_progress;
  tenon_model* model = nullptr;
  ASSERT_OK(load_demo(callbacks, &model));
  tenon_model_destroy(model);
  ASSERT_FALSE(progress.seen.empty());
  EXPECT_TRUE(std::is_sorted(progress.seen.begin(), progress.seen.end()));
  EXPECT_GE(progress.seen.front(), 0.0);
  EXPECT_DOUBLE_EQ(progress.seen.back(), 1.0);

  Progress cancels;
  cancels.stop_at = 0;
  callbacks.user = &cancels;
  tenon_model* untouched = nullptr;
  expect_failure(load_demo(callbacks, &untouched), TENON_ERROR_CANCELLED, "");
  EXPECT_EQ(untouched, nullptr);
  EXPECT_EQ(cancels.seen.size(), 1u);
}

TEST(Host, ACallbackThatThrowsIsAnArgumentError) {
  tenon_callbacks callbacks = make_callbacks(nullptr);
  callbacks.progress = [](void*, double) -> int32_t { throw 42; };
  tenon_model* model = nullptr;
  expect_failure(load_demo(callbacks, &model), TENON_ERROR_ARGUMENT, "callback progress threw");
  EXPECT_EQ(model, nullptr);
}

TEST(Host, CallbacksThatContradictEachOtherAreRefused) {
  tenon_model* model = nullptr;
  tenon_callbacks callbacks = make_callbacks(nullptr);
  callbacks.allocate = [](void*, uint64_t, uint64_t) -> void* { return nullptr; };
  expect_failure(load_demo(callbacks, &model), TENON_ERROR_ARGUMENT, "allocate and release");
  callbacks = make_callbacks(nullptr);
  callbacks.run_tasks = [](void*, uint32_t, void (*)(void*, uint32_t), void*) {};
  expect_failure(load_demo(callbacks, &model), TENON_ERROR_ARGUMENT, "concurrency is 0");
  callbacks = make_callbacks(nullptr);
  callbacks.log_level = 9;
  expect_failure(load_demo(callbacks, &model), TENON_ERROR_ARGUMENT, "log_level is 9");
  EXPECT_EQ(model, nullptr);
}

struct Heap {
  std::atomic<uint64_t> live{0};
  std::atomic<uint64_t> calls{0};
  uint64_t fail_after = UINT64_MAX;
};

void* heap_allocate(void* user, uint64_t size, uint64_t alignment) {
  auto* heap = static_cast<Heap*>(user);
  if (heap->calls++ >= heap->fail_after) return nullptr;
  void* memory = tenon::allocate_aligned(std::max<uint64_t>(size, 1), alignment);
  if (memory != nullptr) heap->live += size;
  return memory;
}

void heap_release(void* user, void* memory, uint64_t size, uint64_t) {
  static_cast<Heap*>(user)->live -= size;
  tenon::free_aligned(memory);
}

TEST(Host, MemoryComesFromTheHostAndGoesBackToHim) {
  const std::string expected = answer_of_path();
  Heap heap;
  tenon_callbacks callbacks = make_callbacks(&heap);
  callbacks.allocate = heap_allocate;
  callbacks.release = heap_release;
  tenon_source source = make_source(TENON_SOURCE_PATH);
  source.name = TENON_DEMO_MODEL;
  source.name_length = TENON_NUL_TERMINATED;
  EXPECT_EQ(answer_of(source, &callbacks), expected);
  EXPECT_GT(heap.calls.load(), 0u);
  EXPECT_EQ(heap.live.load(), 0u);

  // Each failing allocation during a load returns NO_MEMORY and leaves nothing behind.
  tenon_model* model = nullptr;
  Heap counting;
  callbacks.user = &counting;
  ASSERT_OK(load_demo(callbacks, &model));
  tenon_model_destroy(model);
  const uint64_t calls = counting.calls;
  const uint64_t stride = std::max<uint64_t>(1, calls / 40);
  for (uint64_t n = 0; n < calls; n += stride) {
    Heap failing;
    failing.fail_after = n;
    callbacks.user = &failing;
    model = nullptr;
    const tenon_status status = load_demo(callbacks, &model);
    if (status == TENON_OK) {
      tenon_model_destroy(model);  // the allocation was optional
    } else {
      EXPECT_STREQ(tenon_status_name(status), "NO_MEMORY") << n << ": " << tenon_last_error();
      EXPECT_EQ(model, nullptr);
    }
    EXPECT_EQ(failing.live.load(), 0u) << n;
  }
}

TEST(Host, WorkRunsOnTheHostsThreads) {
  const std::string expected = answer_of_path();
  std::atomic<uint64_t> jobs{0};
  tenon_callbacks callbacks = make_callbacks(&jobs);
  callbacks.concurrency = 3;
  callbacks.run_tasks = [](void* user, uint32_t num_tasks, void (*task)(void*, uint32_t),
                           void* arg) {
    ++*static_cast<std::atomic<uint64_t>*>(user);
    std::vector<std::thread> threads;
    for (uint32_t i = 1; i < num_tasks; ++i) threads.emplace_back(task, arg, i);
    if (num_tasks > 0) task(arg, 0);
    for (std::thread& thread : threads) thread.join();
  };
  tenon_source source = make_source(TENON_SOURCE_PATH);
  source.name = TENON_DEMO_MODEL;
  source.name_length = TENON_NUL_TERMINATED;
  EXPECT_EQ(answer_of(source, &callbacks), expected);
  EXPECT_GT(jobs.load(), 0u);
}

TEST(Host, AHostMayRunTasksOneAfterAnother) {
  const std::string expected = answer_of_path();
  tenon_callbacks callbacks = make_callbacks(nullptr);
  callbacks.concurrency = 4;
  callbacks.run_tasks = [](void*, uint32_t num_tasks, void (*task)(void*, uint32_t), void* arg) {
    for (uint32_t i = num_tasks; i > 0; --i) task(arg, i - 1);
  };
  tenon_source source = make_source(TENON_SOURCE_PATH);
  source.name = TENON_DEMO_MODEL;
  source.name_length = TENON_NUL_TERMINATED;
  EXPECT_EQ(answer_of(source, &callbacks), expected);
}

TEST(Host, RunTasksThatThrowsIsAnErrorAndLeavesTheModelUsable) {
  struct Shared {
    bool throws = false;
  } shared;
  tenon_callbacks callbacks = make_callbacks(&shared);
  callbacks.concurrency = 2;
  callbacks.run_tasks = [](void* user, uint32_t num_tasks, void (*task)(void*, uint32_t),
                           void* arg) {
    if (static_cast<Shared*>(user)->throws) throw 42;
    for (uint32_t i = 0; i < num_tasks; ++i) task(arg, i);
  };
  tenon_model* raw = nullptr;
  ASSERT_OK(load_demo(callbacks, &raw));
  const ModelPtr model(raw);
  const SessionPtr session = make_session(model, 32);
  ASSERT_OK(tenon_session_append_text(session.get(), "Once upon a time", 16, 0));
  shared.throws = true;
  auto piece = sized<tenon_piece>();
  EXPECT_EQ(tenon_session_next(session.get(), nullptr, &piece), TENON_ERROR_ARGUMENT);
  EXPECT_NE(std::string(tenon_last_error()).find("run_tasks"), std::string::npos);
  shared.throws = false;
  EXPECT_OK(tenon_session_next(session.get(), nullptr, &piece));
}

TEST(Host, AHostsAllocatorMayFailWhileGenerating) {
  Heap heap;
  tenon_callbacks callbacks = make_callbacks(&heap);
  callbacks.allocate = heap_allocate;
  callbacks.release = heap_release;
  tenon_model* raw = nullptr;
  ASSERT_OK(load_demo(callbacks, &raw));
  {
    const ModelPtr model(raw);
    const SamplerPtr greedy = make_greedy();
    uint64_t failures = 0;
    // Each allocation from this point on fails once; the same calls then succeed on the same model.
    for (uint64_t n = 0; n < 60; ++n) {
      heap.fail_after = heap.calls + n;
      tenon_session* session = nullptr;
      const auto run = [&] {
        tenon_status status = TENON_OK;
        if (session == nullptr) status = tenon_session_create(model.get(), nullptr, &session);
        if (status != TENON_OK) return status;
        uint64_t position = 0;
        EXPECT_OK(tenon_session_position(session, &position));
        if (position == 0) status = tenon_session_append_text(session, "Once upon", 9, 0);
        if (status != TENON_OK) return status;
        return tenon_session_generate(session, greedy.get(), 3, nullptr, nullptr);
      };
      const tenon_status status = run();
      if (status != TENON_OK) {
        ++failures;
        EXPECT_STREQ(tenon_status_name(status), "NO_MEMORY") << tenon_last_error();
      }
      heap.fail_after = UINT64_MAX;
      EXPECT_OK(run());
      tenon_session_destroy(session);
    }
    EXPECT_GT(failures, 0u);
  }
  EXPECT_EQ(heap.live.load(), 0u);
}

TEST(Host, LogGoesToTheHost) {
  std::vector<std::string> lines;
  tenon_callbacks callbacks = make_callbacks(&lines);
  callbacks.log_level = TENON_LOG_DEBUG;
  callbacks.log = [](void* user, uint32_t level, const char* text, uint64_t length) {
    EXPECT_LE(level, TENON_LOG_DEBUG);
    EXPECT_GT(length, 0u);
    static_cast<std::vector<std::string>*>(user)->emplace_back(text, length);
    throw 1;  // against the rules, but harmless
  };
  tenon_model* model = nullptr;
  EXPECT_OK(load_demo(callbacks, &model));
  tenon_model_destroy(model);
  for (const std::string& line : lines) EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(Host, HearsOfAContextBeyondTheTrainedOneOnce) {
  struct Lines {
    std::vector<std::string> texts;
  } lines;
  tenon_callbacks callbacks{};
  callbacks.struct_size = sizeof callbacks;
  callbacks.user = &lines;
  callbacks.log_level = TENON_LOG_WARNING;
  callbacks.log = [](void* user, uint32_t, const char* text, uint64_t length) {
    static_cast<Lines*>(user)->texts.emplace_back(text, length);
  };
  tenon_model* raw = nullptr;
  ASSERT_OK(load_demo(callbacks, &raw));
  const ModelPtr model(raw);
  tenon_model_info info{};
  info.struct_size = sizeof info;
  ASSERT_OK(tenon_model_get_info(model.get(), &info));
  ASSERT_GT(info.trained_context, 0u);
  const auto open = [&](uint64_t context) {
    const OptionsPtr options = make_options();
    EXPECT_OK(tenon_options_set_int(options.get(), "context", static_cast<int64_t>(context)));
    tenon_session* session = nullptr;
    EXPECT_OK(tenon_session_create(model.get(), options.get(), &session));
    tenon_session_destroy(session);
  };
  open(info.trained_context);
  EXPECT_TRUE(lines.texts.empty());
  open(info.trained_context + 1);
  open(info.trained_context + 1);
  ASSERT_EQ(lines.texts.size(), 1u);
  EXPECT_NE(lines.texts[0].find("was trained for " + std::to_string(info.trained_context)),
            std::string::npos)
      << lines.texts[0];
  open(info.trained_context + 2);
  EXPECT_EQ(lines.texts.size(), 2u);
  // Planning warns as well.
  tenon_hardware hardware{};
  hardware.struct_size = sizeof hardware;
  hardware.threads = 1;
  hardware.memory_bytes = uint64_t{1} << 34;
  tenon_plan plan{};
  plan.struct_size = sizeof plan;
  ASSERT_OK(tenon_model_plan(model.get(), info.trained_context + 3, 1, &hardware, &plan));
  EXPECT_EQ(lines.texts.size(), 3u);
}

/// Model with a log of warnings.
struct Listening {
  std::vector<std::string> texts;
  ModelPtr model;

  Listening() {
    tenon_callbacks callbacks{};
    callbacks.struct_size = sizeof callbacks;
    callbacks.user = &texts;
    callbacks.log_level = TENON_LOG_WARNING;
    callbacks.log = [](void* user, uint32_t level, const char* text, uint64_t length) {
      EXPECT_EQ(level, TENON_LOG_WARNING);
      static_cast<std::vector<std::string>*>(user)->emplace_back(text, length);
    };
    tenon_model* raw = nullptr;
    EXPECT_OK(load_demo(callbacks, &raw));
    model.reset(raw);
  }
  SessionPtr session() const {
    tenon_session* made = nullptr;
    EXPECT_OK(tenon_session_create(model.get(), nullptr, &made));
    return SessionPtr(made);
  }
};

const std::string kRendered = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n";

TEST(Host, ARenderedPromptThatIsContinuedAsTextWarnsOnce) {
  const Listening to;
  const SessionPtr session = to.session();
  const auto append = [&](const std::string& text, uint32_t flags) {
    EXPECT_OK(tenon_session_append_text(session.get(), text.data(), text.size(), flags));
  };
  // None of these warns: other brackets, a token that the template does not spell, a token that is
  // meant.
  append("<p>a|b</p> <|im_star|> <|endoftext|>", 0);
  append(kRendered, TENON_PARSE_SPECIAL);
  ASSERT_TRUE(to.texts.empty()) << to.texts[0];
  append(kRendered, TENON_ADD_SPECIAL);
  ASSERT_EQ(to.texts.size(), 1u);
  for (const char* part : {"<|im_", "tenon_chat_answer", "TENON_PARSE_SPECIAL"}) {
    EXPECT_NE(to.texts[0].find(part), std::string::npos) << part << ": " << to.texts[0];
  }
  append(kRendered, 0);
  EXPECT_EQ(to.texts.size(), 1u);
}

TEST(Host, ARenderedPromptOfARequestWarns) {
  const Listening to;
  const SessionPtr session = to.session();
  tenon_submission given{};
  given.struct_size = sizeof given;
  given.text = kRendered.data();
  given.text_length = kRendered.size();
  given.max_tokens = 1;
  const auto submit = [&](uint32_t flags) {
    given.flags = flags;
    tenon_request* request = nullptr;
    EXPECT_OK(tenon_session_submit(session.get(), &given, &request));
    tenon_request_destroy(request);
  };
  submit(TENON_PARSE_SPECIAL);
  ASSERT_TRUE(to.texts.empty()) << to.texts[0];
  submit(0);
  EXPECT_EQ(to.texts.size(), 1u);
}

TEST(Host, AChatDoesNotWarnOfItsOwnPrompt) {
  const Listening to;
  const SessionPtr session = to.session();
  tenon_chat* chat = nullptr;
  ASSERT_OK(tenon_chat_create(to.model.get(), nullptr, &chat));
  const std::string asked =
      R"({"messages": [{"role": "user", "content": "<|im_start|> is what?"}]})";
  const char* message = nullptr;
  size_t length = 0;
  EXPECT_OK(tenon_chat_answer(chat, session.get(), asked.data(), asked.size(), nullptr, 2, 0,
                              nullptr, nullptr, &message, &length, nullptr));
  tenon_chat_destroy(chat);
  EXPECT_TRUE(to.texts.empty()) << to.texts[0];
}

}  // namespace
