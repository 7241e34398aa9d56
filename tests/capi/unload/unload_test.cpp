// Hosts that unload the library while a model lives, as language runtimes do at their end. Not
// linked with the library: what links it never unloads it. And hosts that end while it works.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <tenon/tenon.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

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

/// Unloads the library beside a model whose threads sleep, and uses both once more: 0 when all
/// went well.
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
    if (child == 0) std::exit(unload_beside_a_model());  // as a host ends: with its destructors
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "round " << round << ": signal " << WTERMSIG(status);
    ASSERT_EQ(WEXITSTATUS(status), 0) << "round " << round;
  }
}

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

/// Four long prompts in an engine that a thread drives; then the program ends, and writes first when.
[[noreturn]] void end_under_way(int pipe) {
  void* library = ::dlopen(TENON_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::exit(1);
  tenon_model* model = nullptr;
  tenon_engine* engine = nullptr;
  auto* open = function_of<decltype(tenon_model_open)>(library, "tenon_model_open");
  auto* create = function_of<decltype(tenon_engine_create)>(library, "tenon_engine_create");
  auto* session_of =
      function_of<decltype(tenon_engine_open_session)>(library, "tenon_engine_open_session");
  auto* submit = function_of<decltype(tenon_session_submit)>(library, "tenon_session_submit");
  auto* drive = function_of<decltype(tenon_engine_run)>(library, "tenon_engine_run");
  if (open(TENON_DEMO_MODEL, nullptr, &model) != TENON_OK) std::exit(2);
  if (create(model, nullptr, &engine) != TENON_OK) std::exit(3);
  for (int i = 0; i < 4; ++i) {
    // Different texts: none finds the blocks of another.
    std::string text(1, static_cast<char>('a' + i));
    for (int word = 0; word < 400; ++word) text += " word";
    tenon_session* session = nullptr;
    tenon_request* request = nullptr;
    tenon_submission what{};
    what.struct_size = sizeof what;
    what.text = text.data();
    what.text_length = text.size();
    if (session_of(engine, nullptr, &session) != TENON_OK) std::exit(4);
    if (submit(session, &what, &request) != TENON_OK) std::exit(5);
  }
  std::thread([=] { (void)drive(engine); }).detach();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const int64_t start = now_ns();
  if (::write(pipe, &start, sizeof start) != sizeof start) std::exit(6);
  std::exit(0);
}

TEST(Exit, WithWorkUnderWayIsHarmlessAndQuick) {
  std::array<double, 20> seconds{};
  for (double& took : seconds) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) end_under_way(ends[1]);
    int64_t start = 0;
    ASSERT_EQ(::read(ends[0], &start, sizeof start), ssize_t{sizeof start});
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    took = static_cast<double>(now_ns() - start) * 1e-9;
    ::close(ends[0]);
    ::close(ends[1]);
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    ASSERT_EQ(WEXITSTATUS(status), 0);
  }
  // The median: the machine may have had something else to do in one of them.
  std::ranges::sort(seconds);
  EXPECT_LT(seconds[10], 0.1);
}

}  // namespace
