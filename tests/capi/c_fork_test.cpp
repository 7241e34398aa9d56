// Child of a fork while the parent's threads are anywhere in the library: earlier handles are
// destroyed at once and report STATE, and new ones work.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <tenon/tenon.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "demo_adapter.h"
#include "handles.h"
#include "loading.h"

namespace {

using namespace tenon_test;

constexpr const char* kText = "Once upon a time";
constexpr const char* kGrammar = "root ::= [a-z]+ \" \" root | \".\"";

/// Runs `body` in a child and returns its result; -1 if it hung or crashed.
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(5);
    ::_exit(body());
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

/// One object of each kind, with a running request.
struct Objects {
  tenon_options* options = nullptr;
  tenon_model* model = nullptr;
  const tenon_tokenizer* of_model = nullptr;
  tenon_tokenizer* tokenizer = nullptr;
  tenon_engine* engine = nullptr;
  tenon_session* session = nullptr;  // session of the request
  tenon_session* idle = nullptr;
  tenon_session* own = nullptr;  // session in the model's own engine
  tenon_request* request = nullptr;
  tenon_sampler* sampler = nullptr;
  tenon_grammar* grammar = nullptr;
  tenon_grammar_cache* cache = nullptr;
  tenon_matcher* matcher = nullptr;
  tenon_chat* chat = nullptr;
  tenon_chat_reply* reply = nullptr;
  tenon_backends* backends = nullptr;
  tenon_placement* placement = nullptr;
  tenon_options* for_rows = nullptr;
  tenon_model* of_rows = nullptr;  // opened for embeddings
  tenon_embedder* embedder = nullptr;
  tenon_adapter* adapter = nullptr;
};

constexpr const char* kTalk = R"({"messages": [{"role": "user", "content": "hello"}]})";

class Fork : public testing::Test {
 protected:
  void SetUp() override {
    Objects& o = objects_;
    ASSERT_OK(tenon_options_create(&o.options));
    ASSERT_OK(tenon_options_set_int(o.options, "threads", 2));
    ASSERT_OK(tenon_model_open(TENON_DEMO_MODEL, o.options, &o.model));
    ASSERT_OK(tenon_model_tokenizer(o.model, &o.of_model));
    ASSERT_OK(tenon_tokenizer_open(TENON_DEMO_MODEL, &o.tokenizer));
    ASSERT_OK(tenon_engine_create(o.model, nullptr, &o.engine));
    ASSERT_OK(tenon_engine_open_session(o.engine, nullptr, &o.session));
    ASSERT_OK(tenon_engine_open_session(o.engine, nullptr, &o.idle));
    ASSERT_OK(tenon_session_append_text(o.idle, kText, 16, 0));
    ASSERT_OK(tenon_session_create(o.model, nullptr, &o.own));
    ASSERT_OK(tenon_sampler_create(nullptr, &o.sampler));
    ASSERT_OK(tenon_grammar_create(TENON_GRAMMAR_GBNF, kGrammar, TENON_NUL_TERMINATED, &o.grammar));
    ASSERT_OK(tenon_sampler_set_grammar(o.sampler, o.grammar, o.of_model));
    ASSERT_OK(tenon_grammar_cache_create(1 << 20, &o.cache));
    ASSERT_OK(tenon_matcher_create(o.grammar, o.of_model, &o.matcher));
    ASSERT_OK(tenon_chat_create(o.model, nullptr, &o.chat));
    ASSERT_OK(tenon_chat_reply_create(o.chat, kTalk, TENON_NUL_TERMINATED, &o.reply));
    ASSERT_OK(tenon_backends_create(nullptr, &o.backends));
    tenon_hardware hardware{};
    hardware.struct_size = sizeof hardware;
    hardware.threads = 1;
    ASSERT_OK(tenon_placement_create(o.model, 0, 0, &hardware, &o.placement));
    ASSERT_OK(tenon_options_create(&o.for_rows));
    ASSERT_OK(tenon_options_set_string(o.for_rows, "embeddings", "on", TENON_NUL_TERMINATED));
    ASSERT_OK(tenon_model_open(TENON_DEMO_MODEL, o.for_rows, &o.of_rows));
    ASSERT_OK(tenon_embedder_create(o.of_rows, nullptr, &o.embedder));
    o.adapter = demo_adapter_.open();
    // Threads that are mostly in the engine, the tokenizer, the masks and the logits.
    threads_.emplace_back([this] { EXPECT_OK(tenon_engine_run(objects_.engine)); });
    threads_.emplace_back([this] {
      while (!done_) {
        size_t size = 0;
        EXPECT_OK(tenon_tokenizer_encode(objects_.of_model, kText, 16, 0, nullptr, 0, &size));
        auto stats = sized<tenon_engine_stats>();
        EXPECT_OK(tenon_engine_get_stats(objects_.engine, &stats));
        tenon_grammar* grammar = nullptr;
        EXPECT_OK(tenon_grammar_cache_get(objects_.cache, TENON_GRAMMAR_GBNF, kGrammar,
                                          TENON_NUL_TERMINATED, &grammar));
        tenon_grammar_destroy(grammar);
      }
    });
  }
  void TearDown() override {
    Objects& o = objects_;
    done_ = true;
    EXPECT_OK(tenon_engine_stop(o.engine));
    for (std::thread& thread : threads_) thread.join();
    tenon_request_destroy(o.request);
    for (tenon_session* session : {o.session, o.idle, o.own}) tenon_session_destroy(session);
    tenon_sampler_destroy(o.sampler);
    tenon_matcher_destroy(o.matcher);
    tenon_grammar_destroy(o.grammar);
    tenon_grammar_cache_destroy(o.cache);
    tenon_chat_reply_destroy(o.reply);
    tenon_chat_destroy(o.chat);
    tenon_backends_destroy(o.backends);
    tenon_placement_destroy(o.placement);
    tenon_adapter_destroy(o.adapter);
    tenon_embedder_destroy(o.embedder);
    tenon_model_destroy(o.of_rows);
    tenon_options_destroy(o.for_rows);
    tenon_tokenizer_destroy(o.tokenizer);
    tenon_engine_destroy(o.engine);
    tenon_model_destroy(o.model);
    tenon_options_destroy(o.options);
  }

  /// Submits a request, which is running when this returns.
  void submit() {
    Objects& o = objects_;
    tenon_request_destroy(o.request);
    o.request = nullptr;
    // Wait until the engine has released the previous request.
    while (tenon_session_rewind(o.session, 0) != TENON_OK) std::this_thread::yield();
    auto what = sized<tenon_submission>();
    what.text = kText;
    what.text_length = 16;
    what.flags = TENON_IGNORE_END;
    what.max_tokens = 200;
    ASSERT_OK(tenon_session_submit(o.session, &what, &o.request));
    auto piece = sized<tenon_piece>();
    ASSERT_OK(tenon_request_wait(o.request, -1, &piece));
  }

  DemoAdapter demo_adapter_;
  Objects objects_;
  std::atomic<bool> done_{false};
  std::vector<std::thread> threads_;
};

/// All destroy functions of the manual, each on an object of its kind.
std::vector<std::pair<std::string, std::function<void()>>> destroys(const Objects& o) {
  return {
      {"tenon_request_destroy", [&o] { tenon_request_destroy(o.request); }},
      {"tenon_session_destroy", [&o] { tenon_session_destroy(o.session); }},
      {"tenon_session_destroy", [&o] { tenon_session_destroy(o.idle); }},
      {"tenon_session_destroy", [&o] { tenon_session_destroy(o.own); }},
      {"tenon_engine_destroy", [&o] { tenon_engine_destroy(o.engine); }},
      {"tenon_model_destroy", [&o] { tenon_model_destroy(o.model); }},
      {"tenon_tokenizer_destroy", [&o] { tenon_tokenizer_destroy(o.tokenizer); }},
      {"tenon_sampler_destroy", [&o] { tenon_sampler_destroy(o.sampler); }},
      {"tenon_matcher_destroy", [&o] { tenon_matcher_destroy(o.matcher); }},
      {"tenon_grammar_destroy", [&o] { tenon_grammar_destroy(o.grammar); }},
      {"tenon_grammar_cache_destroy", [&o] { tenon_grammar_cache_destroy(o.cache); }},
      {"tenon_chat_destroy", [&o] { tenon_chat_destroy(o.chat); }},
      {"tenon_chat_reply_destroy", [&o] { tenon_chat_reply_destroy(o.reply); }},
      {"tenon_backends_destroy", [&o] { tenon_backends_destroy(o.backends); }},
      {"tenon_placement_destroy", [&o] { tenon_placement_destroy(o.placement); }},
      {"tenon_embedder_destroy", [&o] { tenon_embedder_destroy(o.embedder); }},
      {"tenon_adapter_destroy", [&o] { tenon_adapter_destroy(o.adapter); }},
      {"tenon_options_destroy", [&o] { tenon_options_destroy(o.options); }},
  };
}

TEST_F(Fork, DestroyReturnsAtOnceInTheChild) {
  std::set<std::string> tried;
  for (int round = 0; round < 4; ++round) {
    for (const auto& [name, destroy] : destroys(objects_)) {
      tried.insert(name);
      submit();
      EXPECT_EQ(in_child([&destroy = destroy] {
                  destroy();
                  return 0;
                }),
                0)
          << name;
    }
  }
  submit();
  EXPECT_EQ(in_child([this] {
              for (const auto& [name, destroy] : destroys(objects_)) destroy();
              return 0;
            }),
            0);
  std::ifstream in(TENON_MANUAL);
  const std::string manual(std::istreambuf_iterator<char>(in), {});
  const std::regex destroy(R"(\btenon_\w+_destroy\b)");
  for (std::sregex_iterator at(manual.begin(), manual.end(), destroy), end; at != end; ++at) {
    EXPECT_TRUE(tried.contains(at->str())) << at->str() << " is not tried here";
  }
}

/// Clock that stops the calling thread, anywhere in the library.
struct Trap {
  std::atomic<int> calls_left{-1};  // calls of the serving thread
  std::atomic<bool> caught{false};
  std::atomic<bool> released{false};
  std::thread::id victim;
  static uint64_t now_ns(void* user) {
    auto& trap = *static_cast<Trap*>(user);
    static std::atomic<uint64_t> now{0};
    if (std::this_thread::get_id() == trap.victim && trap.calls_left-- == 0) {
      trap.caught = true;
      while (!trap.released) std::this_thread::yield();
    }
    return now += 1000;
  }
};

TEST(ForkWithTheLock, DestroyReturnsAtOnceInTheChild) {
  Trap trap;
  tenon_callbacks callbacks = make_callbacks(&trap);
  callbacks.now_ns = Trap::now_ns;
  tenon_model* model = nullptr;
  ASSERT_OK(load_demo(callbacks, &model));
  tenon_engine* engine = nullptr;
  ASSERT_OK(tenon_engine_create(model, nullptr, &engine));
  // A step calls the clock about seven times, five of them under the engine's lock.
  for (int calls = 0; calls < 8; ++calls) {
    tenon_session* session = nullptr;
    tenon_session* idle = nullptr;
    ASSERT_OK(tenon_engine_open_session(engine, nullptr, &session));
    ASSERT_OK(tenon_engine_open_session(engine, nullptr, &idle));
    auto what = sized<tenon_submission>();
    what.text = kText;
    what.text_length = 16;
    what.flags = TENON_IGNORE_END;
    what.max_tokens = 8;
    tenon_request* request = nullptr;
    ASSERT_OK(tenon_session_submit(session, &what, &request));
    trap.caught = trap.released = false;
    std::atomic<bool> armed{false};
    std::thread server([&] {
      while (!armed) std::this_thread::yield();
      int32_t worked = 1;
      while (worked != 0) EXPECT_OK(tenon_engine_step(engine, &worked));
    });
    trap.victim = server.get_id();
    trap.calls_left = calls;
    armed = true;
    while (!trap.caught) std::this_thread::yield();
    const std::vector<std::function<void()>> bodies = {
        [&] { tenon_request_destroy(request); }, [&] { tenon_session_destroy(session); },
        [&] { tenon_session_destroy(idle); },    [&] { tenon_engine_destroy(engine); },
        [&] { tenon_model_destroy(model); },
    };
    for (size_t i = 0; i < bodies.size(); ++i) {
      EXPECT_EQ(in_child([&] {
                  bodies[i]();
                  return 0;
                }),
                0)
          << "destroy " << i << ", call " << calls;
    }
    trap.released = true;
    server.join();
    tenon_request_destroy(request);
    tenon_session_destroy(session);
    tenon_session_destroy(idle);
  }
  tenon_engine_destroy(engine);
  tenon_model_destroy(model);
}

TEST_F(Fork, CallsInTheChildAnswerState) {
  const Objects& o = objects_;
  submit();
  auto piece = sized<tenon_piece>();
  auto stats = sized<tenon_engine_stats>();
  auto info = sized<tenon_model_info>();
  auto request_stats = sized<tenon_request_stats>();
  size_t size = 0;
  int32_t yes = 0;
  uint64_t number = 0;
  tenon_session* session = nullptr;
  tenon_engine* engine = nullptr;
  tenon_sampler* sampler = nullptr;
  const std::vector<std::pair<const char*, std::function<tenon_status()>>> calls = {
      {"request_wait", [&] { return tenon_request_wait(o.request, -1, &piece); }},
      {"request_poll", [&] { return tenon_request_wait(o.request, 0, &piece); }},
      {"request_cancel", [&] { return tenon_request_cancel(o.request); }},
      {"request_get_stats", [&] { return tenon_request_get_stats(o.request, &request_stats); }},
      {"session_cancel", [&] { return tenon_session_cancel(o.session); }},
      {"session_generate",
       [&] { return tenon_session_generate(o.idle, nullptr, 2, nullptr, nullptr); }},
      {"session_position", [&] { return tenon_session_position(o.idle, &number); }},
      {"session_rewind", [&] { return tenon_session_rewind(o.idle, 0); }},
      {"session_fork", [&] { return tenon_session_fork(o.idle, &session); }},
      {"session_save", [&] { return tenon_session_save_buffer(o.idle, nullptr, 0, &size); }},
      {"engine_get_stats", [&] { return tenon_engine_get_stats(o.engine, &stats); }},
      {"engine_step", [&] { return tenon_engine_step(o.engine, &yes); }},
      {"engine_run", [&] { return tenon_engine_run(o.engine); }},
      {"engine_stop", [&] { return tenon_engine_stop(o.engine); }},
      {"engine_open", [&] { return tenon_engine_open_session(o.engine, nullptr, &session); }},
      {"engine_create", [&] { return tenon_engine_create(o.model, nullptr, &engine); }},
      {"session_create", [&] { return tenon_session_create(o.model, nullptr, &session); }},
      {"sampler_create", [&] { return tenon_sampler_create(o.options, &sampler); }},
      {"sampler_reset", [&] { return tenon_sampler_reset(o.sampler); }},
      {"model_get_info", [&] { return tenon_model_get_info(o.model, &info); }},
      {"encode of the model's",
       [&] { return tenon_tokenizer_encode(o.of_model, "a", 1, 0, nullptr, 0, &size); }},
      {"encode", [&] { return tenon_tokenizer_encode(o.tokenizer, "a", 1, 0, nullptr, 0, &size); }},
      {"grammar_accepts", [&] { return tenon_grammar_accepts(o.grammar, "a", 1, &yes); }},
      {"matcher_mask", [&] { return tenon_matcher_mask(o.matcher, nullptr, 0, &size); }},
      {"chat_render",
       [&] { return tenon_chat_render(o.chat, kTalk, TENON_NUL_TERMINATED, nullptr, 0, &size); }},
      {"options_set", [&] { return tenon_options_set_int(o.options, "threads", 1); }},
  };
  for (size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(in_child([&] {
                const bool says_why =
                    calls[i].second() == TENON_ERROR_STATE &&
                    std::string(tenon_last_error()).find("fork()") != std::string::npos;
                return says_why ? 0 : 1;
              }),
              0)
        << calls[i].first;
  }
  EXPECT_EQ(in_child([&] {
              return tenon_tokenizer_count(o.of_model) + tenon_model_tensor_count(o.model) == 0 ? 0
                                                                                                : 1;
            }),
            0);
  EXPECT_OK(tenon_request_wait(o.request, -1, &piece)) << "the parent goes on";
  EXPECT_NE(piece.token, TENON_NO_TOKEN);
}

TEST_F(Fork, ObjectsOfTheChildWork) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer allows no new threads after a fork";
#endif
  submit();
  EXPECT_EQ(in_child([] {
              tenon_model* model = nullptr;
              tenon_session* session = nullptr;
              if (tenon_model_open(TENON_DEMO_MODEL, nullptr, &model) != TENON_OK) return 1;
              if (tenon_session_create(model, nullptr, &session) != TENON_OK) return 2;
              if (tenon_session_append_text(session, kText, 16, 0) != TENON_OK) return 3;
              if (tenon_session_generate(session, nullptr, 3, nullptr, nullptr) != TENON_OK)
                return 4;
              tenon_session_destroy(session);
              tenon_model_destroy(model);
              return 0;
            }),
            0);
}

/// Schema whose automata other compilations reuse.
constexpr const char* kSchema =
    R"({"type": "object", "properties": {"a": {"type": "string", "format": "email"},
        "b": {"type": "string", "pattern": "^[a-z]+$"}}})";

/// Returns 0 if the child compiled grammars, without and with a cache of its own.
int compile_in_child() {
  tenon_grammar* grammar = nullptr;
  if (tenon_grammar_create(TENON_GRAMMAR_JSON_SCHEMA, kSchema, TENON_NUL_TERMINATED, &grammar) !=
      TENON_OK) {
    return 1;
  }
  int32_t yes = 0;
  if (tenon_grammar_accepts(grammar, R"({"b": "ab"})", TENON_NUL_TERMINATED, &yes) != TENON_OK ||
      yes == 0) {
    return 2;
  }
  tenon_grammar_destroy(grammar);
  tenon_grammar_cache* cache = nullptr;
  if (tenon_grammar_cache_create(1 << 20, &cache) != TENON_OK) return 3;
  for (int i = 0; i < 2; ++i) {
    if (tenon_grammar_cache_get(cache, TENON_GRAMMAR_JSON_SCHEMA, kSchema, TENON_NUL_TERMINATED,
                                &grammar) != TENON_OK) {
      return 4;
    }
    tenon_grammar_destroy(grammar);
  }
  tenon_grammar_cache_destroy(cache);
  return 0;
}

TEST_F(Fork, TheChildCompilesWhileThreadsOfTheParentDo) {
  // Use different patterns, so that each compilation fills the cache.
  std::atomic<bool> stop{false};
  std::vector<std::thread> compilers;
  for (int t = 0; t < 2; ++t) {
    compilers.emplace_back([this, t, &stop] {
      for (int i = 0; !stop; ++i) {
        const std::string text =
            R"({"pattern": "^[a-z]{)" + std::to_string(1 + (2 * i + t) % 200) + R"(}$"})";
        tenon_grammar* grammar = nullptr;
        EXPECT_OK(
            tenon_grammar_create(TENON_GRAMMAR_JSON_SCHEMA, text.data(), text.size(), &grammar));
        tenon_grammar_destroy(grammar);
        grammar = nullptr;
        EXPECT_OK(tenon_grammar_cache_get(objects_.cache, TENON_GRAMMAR_JSON_SCHEMA, text.data(),
                                          text.size(), &grammar));
        tenon_grammar_destroy(grammar);
      }
    });
  }
  for (int round = 0; round < 50 && !HasFailure(); ++round) {
    EXPECT_EQ(in_child(compile_in_child), 0) << round;
  }
  stop = true;
  for (std::thread& compiler : compilers) compiler.join();
}

TEST_F(Fork, InsideACallbackEndsTheCallOfTheChildWithState) {
  submit();
  struct Seen {
    pid_t child = -1;
    tenon_session* session;
  } seen{-1, objects_.idle};
  const pid_t parent = ::getpid();
  const tenon_status status = tenon_session_generate(
      objects_.idle, nullptr, 4,
      [](void* user, const tenon_piece*) -> int32_t {
        auto& s = *static_cast<Seen*>(user);
        if (s.child != -1) return 0;
        s.child = ::fork();
        if (s.child == 0) {
          ::alarm(20);
          tenon_session_destroy(s.session);
        }
        return 0;
      },
      &seen);
  if (::getpid() != parent) ::_exit(status == TENON_ERROR_STATE ? 0 : 1);
  EXPECT_OK(status);
  int ended = -1;
  ASSERT_EQ(::waitpid(seen.child, &ended, 0), seen.child);
  EXPECT_TRUE(WIFEXITED(ended));
  EXPECT_EQ(WEXITSTATUS(ended), 0);
}

}  // namespace
