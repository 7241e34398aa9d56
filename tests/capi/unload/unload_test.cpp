// Hosts that unload the library while a model lives, as language runtimes do at their end. Not
// linked with the library: what links it never unloads it.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <tenon/tenon.h>
#include <unistd.h>

#include <cstdlib>

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

}  // namespace
