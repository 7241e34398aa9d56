// Each system call fails once while a model is loaded and generates: an error names it, no resource
// leaks, and the next attempt works.
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/base/faulty_system.h"
#include "tests/base/temp_folder.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

std::vector<Token> load_and_generate(const std::string& path, const std::string& backend,
                                     std::shared_ptr<System> system) {
  ModelOptions options;
  options.backend = backend;
  options.threads = 2;
  options.system = std::move(system);
  Session session(Engine::create(Model::load(path, std::move(options))), SessionOptions{64});
  session.append(make_tokens(33));
  return generate(session, 3);
}

class SystemFault : public testing::TestWithParam<const char*> {};

TEST_P(SystemFault, OfEveryCallIsAnErrorOrHarmless) {
  const TempFolder folder;
  const std::string path = folder.write("m.gguf", TinyModel().file());
  const std::vector<Token> expected = load_and_generate(path, GetParam(), System::real());
  uint64_t errors = 0;
  for (uint64_t n = 0;; ++n) {
    const auto system = std::make_shared<FaultySystem>(n);
    try {
      EXPECT_EQ(load_and_generate(path, GetParam(), system), expected) << "call " << n;
    } catch (const Error& error) {
      ++errors;
      EXPECT_TRUE(error.code() == Code::NoMemory || error.code() == Code::Io)
          << "call " << n << ": " << code_name(error.code()) << " " << error.what();
    }
    EXPECT_TRUE(system->all_released()) << "call " << n;
    if (!system->failed()) break;
  }
  EXPECT_GT(errors, 10u);
  EXPECT_EQ(load_and_generate(path, GetParam(), System::real()), expected);
}

INSTANTIATE_TEST_SUITE_P(Backends, SystemFault, testing::Values("cpu", "reference"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(SystemFaults, WhileGeneratingLeaveTheSessionUsable) {
  const TempFolder folder;
  const std::string path = folder.write("m.gguf", TinyModel().file());
  const std::vector<Token> expected = load_and_generate(path, "cpu", System::real());
  // Counts the calls before the session exists, then fails each later call.
  const auto counting = std::make_shared<FaultySystem>();
  uint64_t first = 0;
  uint64_t last = 0;
  {
    ModelOptions options;
    options.threads = 2;
    options.system = counting;
    Session session(Engine::create(Model::load(path, std::move(options))), SessionOptions{64});
    first = counting->num_calls();
    session.append(make_tokens(33));
    generate(session, 3);
    last = counting->num_calls();
  }
  ASSERT_GT(last, first) << "the first step asks for memory of the cache";
  for (uint64_t n = first; n < last; ++n) {
    const auto system = std::make_shared<FaultySystem>(n);
    ModelOptions options;
    options.threads = 2;
    options.system = system;
    Session session(Engine::create(Model::load(path, std::move(options))), SessionOptions{64});
    session.append(make_tokens(33));
    std::vector<Token> text;
    try {
      text = generate(session, 3);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::NoMemory) << error.what();
      session.rewind(33);
      text = generate(session, 3);
    }
    EXPECT_EQ(text, expected) << "call " << n;
  }
}

}  // namespace
}  // namespace tenon
