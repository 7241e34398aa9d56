// Hosts that unload the library while a model lives, as language runtimes do at exit, or after
// everything is destroyed; and hosts that exit during work. Not linked with the library, since a
// linked library is never unloaded.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <tenon/tenon.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#ifdef TENON_SERVER_LIBRARY
#include <tenon/server.h>
#endif

namespace {

template <typename Function>
Function* function_of(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

bool generate(decltype(tenon_session_append_text)* append, decltype(tenon_session_generate)* run,
              tenon_session* session) {
  return append(session, "Once", 4, 1) == TENON_OK &&
         run(session, nullptr, 4, nullptr, nullptr) == TENON_OK;
}

/// Unloads the library beside a model with sleeping threads, and uses both once more. Returns 0 on
/// success.
int unload_beside_a_model() {
  void* library = ::dlopen(TENON_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 1;
  auto* append =
      function_of<decltype(tenon_session_append_text)>(library, "tenon_session_append_text");
  auto* run = function_of<decltype(tenon_session_generate)>(library, "tenon_session_generate");
  tenon_options* options = nullptr;
  tenon_model* model = nullptr;
  tenon_session* session = nullptr;
  function_of<decltype(tenon_options_create)>(library, "tenon_options_create")(&options);
  function_of<decltype(tenon_options_set_int)>(library, "tenon_options_set_int")(options, "threads",
                                                                                 2);
  if (function_of<decltype(tenon_model_open)>(library, "tenon_model_open")(
          TENON_DEMO_MODEL, options, &model) != TENON_OK ||
      function_of<decltype(tenon_session_create)>(library, "tenon_session_create")(
          model, nullptr, &session) != TENON_OK ||
      !generate(append, run, session)) {
    return 2;
  }
  if (::dlclose(library) != 0) return 3;
  return generate(append, run, session) ? 0 : 4;
}

TEST(Unloading, BesideAModelIsHarmless) {
  for (int round = 0; round < 50; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    // Exit as a host does, with its destructors.
    if (child == 0) std::exit(unload_beside_a_model());
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "round " << round << ": signal " << WTERMSIG(status);
    ASSERT_EQ(WEXITSTATUS(status), 0) << "round " << round;
  }
}

/// Function of this name in an opened library.
#define TENON_OF(library, name) function_of<decltype(name)>(library, #name)

/// Demo model on a plugin's backend; null if it cannot be opened.
tenon_model* open_on_plugin(void* library) {
  tenon_options* options = nullptr;
  tenon_model* model = nullptr;
  TENON_OF(library, tenon_options_create)(&options);
  const auto set = TENON_OF(library, tenon_options_set_string);
  (void)TENON_OF(library, tenon_options_set_int)(options, "threads", 2);
  (void)TENON_OF(library, tenon_options_add_string)(options, "plugin", TENON_PLUGIN,
                                                    TENON_NUL_TERMINATED);
  (void)set(options, "backend", "delayed", TENON_NUL_TERMINATED);
  (void)TENON_OF(library, tenon_model_open)(TENON_DEMO_MODEL, options, &model);
  TENON_OF(library, tenon_options_destroy)(options);
  return model;
}

/// Works on threads of the host and of a model, on a plugin, and with error texts; then destroys
/// everything, unloads the library and ends the threads. Returns 0 on success.
int unload_after_work() {
  void* library = ::dlopen(TENON_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 1;
  tenon_model* model = open_on_plugin(library);
  tenon_engine* engine = nullptr;
  if (model == nullptr) return 2;
  if (TENON_OF(library, tenon_engine_create)(model, nullptr, &engine) != TENON_OK) return 3;
  std::atomic<int> failed = 0;
  std::atomic<int> done = 0;
  std::atomic<bool> unloaded = false;
  std::thread driver([&] { (void)TENON_OF(library, tenon_engine_run)(engine); });
  std::array<std::thread, 3> users;
  for (std::thread& user : users) {
    user = std::thread([&] {
      tenon_session* session = nullptr;
      (void)TENON_OF(library, tenon_engine_open_session)(engine, nullptr, &session);
      if (!generate(TENON_OF(library, tenon_session_append_text),
                    TENON_OF(library, tenon_session_generate), session)) {
        ++failed;
      }
      (void)TENON_OF(library, tenon_session_rewind)(session, 1000);
      const char* const text = TENON_OF(library, tenon_last_error)();
      TENON_OF(library, tenon_session_destroy)(session);
      ++done;
      while (!unloaded) std::this_thread::yield();
      // The text belongs to the thread.
      if (std::strstr(text, "cannot rewind") == nullptr) ++failed;
    });
  }
  while (done < 3) std::this_thread::yield();
  (void)TENON_OF(library, tenon_engine_stop)(engine);
  driver.join();
  TENON_OF(library, tenon_engine_destroy)(engine);
  TENON_OF(library, tenon_model_destroy)(model);
  if (::dlclose(library) != 0) return 4;
  unloaded = true;
  for (std::thread& user : users) user.join();
  // Repeat from the beginning.
  library = ::dlopen(TENON_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 5;
  model = open_on_plugin(library);
  if (model == nullptr) return 6;
  TENON_OF(library, tenon_model_destroy)(model);
  if (::dlclose(library) != 0) return 7;
  return failed == 0 ? 0 : 8;
}

TEST(Unloading, AfterTheLastHandleIsHarmless) {
  for (int round = 0; round < 10; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) std::exit(unload_after_work());
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "round " << round << ": signal " << WTERMSIG(status);
    ASSERT_EQ(WEXITSTATUS(status), 0) << "round " << round;
  }
}

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

[[noreturn]] void give_up(const char* call) {
  std::fprintf(stderr, "%s\n", call);
  std::exit(1);
}
#define TENON_MUST(library, name, ...) \
  if (TENON_OF(library, name)(__VA_ARGS__) != TENON_OK) give_up(#name)

tenon_model* open_demo(void* library) {
  tenon_model* model = nullptr;
  TENON_MUST(library, tenon_model_open, TENON_DEMO_MODEL, nullptr, &model);
  return model;
}

/// Different texts share no prefix blocks.
std::string long_text(int number) {
  std::string text(1, static_cast<char>('a' + number));
  for (int word = 0; word < 400; ++word) text += " word";
  return text;
}

/// Kind of work that does not end by itself.
struct Work {
  const char* name;
  void (*begin)(void* library);  ///< on threads that nothing waits for
};
void PrintTo(const Work& work, std::ostream* out) { *out << work.name; }

/// Four long prompts in an engine that a thread drives.
void drive_an_engine(void* library) {
  tenon_engine* engine = nullptr;
  TENON_MUST(library, tenon_engine_create, open_demo(library), nullptr, &engine);
  for (int i = 0; i < 4; ++i) {
    const std::string text = long_text(i);
    tenon_session* session = nullptr;
    tenon_request* request = nullptr;
    tenon_submission what{};
    what.struct_size = sizeof what;
    what.text = text.data();
    what.text_length = text.size();
    TENON_MUST(library, tenon_engine_open_session, engine, nullptr, &session);
    TENON_MUST(library, tenon_session_submit, session, &what, &request);
  }
  std::thread([=] { (void)TENON_OF(library, tenon_engine_run)(engine); }).detach();
}

void load_models(void* library) {
  std::thread([=] {
    for (;;) TENON_OF(library, tenon_model_destroy)(open_demo(library));
  }).detach();
}

void generate_on(void* library, tenon_model* model) {
  if (model == nullptr) give_up("tenon_model_open");
  tenon_session* session = nullptr;
  TENON_MUST(library, tenon_session_create, model, nullptr, &session);
  std::thread([=] {
    for (;;) {
      const std::string text = long_text(0);
      TENON_MUST(library, tenon_session_rewind, session, 0);
      TENON_MUST(library, tenon_session_append_text, session, text.data(), text.size(), 0);
      TENON_MUST(library, tenon_session_generate, session, nullptr, 100, nullptr, nullptr);
    }
  }).detach();
}

void embed(void* library) {
  tenon_options* options = nullptr;
  tenon_model* model = nullptr;
  tenon_embedder* embedder = nullptr;
  TENON_MUST(library, tenon_options_create, &options);
  TENON_MUST(library, tenon_options_set_string, options, "embeddings", "on", 2);
  TENON_MUST(library, tenon_model_open, TENON_DEMO_MODEL, options, &model);
  TENON_MUST(library, tenon_embedder_create, model, nullptr, &embedder);
  std::thread([=] {
    const std::string text = long_text(0);
    const char* const texts[] = {text.c_str(), "a fox"};
    std::vector<float> rows(4096);
    for (;;) {
      tenon_embedder_batch batch{};
      batch.struct_size = sizeof batch;
      batch.texts = texts;
      batch.count = 2;
      size_t needed = 0;
      TENON_MUST(library, tenon_embedder_embed, embedder, &batch, rows.data(), rows.size(),
                 &needed);
    }
  }).detach();
}

constexpr Work kWorks[] = {
    {"Engine", drive_an_engine},
    {"Loading", load_models},
    {"Session", [](void* library) { generate_on(library, open_demo(library)); }},
    {"SessionOnAPlugin", [](void* library) { generate_on(library, open_on_plugin(library)); }},
    {"Embedder", embed},
#ifdef TENON_SERVER_LIBRARY
    {"Server",
     [](void* library) {
       void* const server_library = ::dlopen(TENON_SERVER_LIBRARY, RTLD_NOW | RTLD_LOCAL);
       if (server_library == nullptr) give_up("dlopen");
       tenon_server* server = nullptr;
       TENON_MUST(server_library, tenon_server_create, nullptr, &server);
       TENON_MUST(server_library, tenon_server_add_model, server, "demo", 4, open_demo(library),
                  nullptr, 0);
       TENON_MUST(server_library, tenon_server_listen_tcp, server, "127.0.0.1", 0, nullptr);
       TENON_MUST(server_library, tenon_server_start, server, 0);
       for (int i = 0; i < 4; ++i) {
         const std::string body = R"({"prompt": ")" + long_text(i) + R"(", "max_tokens": 500})";
         tenon_server_request request{};
         request.struct_size = sizeof request;
         request.method = "POST";
         request.target = "/v1/completions";
         request.body = body.data();
         request.body_length = body.size();
         tenon_server_call* call = nullptr;
         TENON_MUST(server_library, tenon_server_submit, server, &request, &call);
       }
       // Others' uses of the library keep it open.
       if (::dlclose(server_library) != 0) give_up("dlclose");
     }},
#endif
};

/// Exits 5 ms after the work has begun, and writes the time just before.
[[noreturn]] void end_under_way(const Work& work, int pipe) {
  void* library = ::dlopen(TENON_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::exit(1);
  work.begin(library);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const int64_t start = now_ns();
  if (::write(pipe, &start, sizeof start) != sizeof start) std::exit(6);
  std::exit(0);
}

class Exit : public testing::TestWithParam<Work> {};

TEST_P(Exit, WithWorkUnderWayIsHarmlessAndQuick) {
  std::array<double, 9> seconds{};
  for (double& took : seconds) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) end_under_way(GetParam(), ends[1]);
    ::close(ends[1]);
    int64_t start = 0;
    EXPECT_EQ(::read(ends[0], &start, sizeof start), ssize_t{sizeof start}) << "it ended before";
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    took = static_cast<double>(now_ns() - start) * 1e-9;
    ::close(ends[0]);
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    ASSERT_EQ(WEXITSTATUS(status), 0);
  }
  // Take the median, since the machine may be busy during one run.
  std::ranges::sort(seconds);
  EXPECT_LT(seconds[4], 0.1);
}

INSTANTIATE_TEST_SUITE_P(Of, Exit, testing::ValuesIn(kWorks),
                         [](const auto& work) { return std::string(work.param.name); });

}  // namespace
