// Whole models on the first Vulkan device: texts as elsewhere, and answers independent of
// neighbours. Skipped without a driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "tests/engine/tiny_engine.h"
#include "tests/golden/golden.h"
#include "tests/golden/missing_device.h"

#ifdef TENON_VULKAN_PLUGIN
namespace tenon::golden {
namespace {

const char* const kDemo = TENON_TEST_DATA_DIR "/../../examples/models/demo-q8_0.gguf";

ModelOptions options_for(const char* backend) {
  ModelOptions options;
  options.plugin_paths = {TENON_VULKAN_PLUGIN};
  options.backend = backend;
  options.threads = 2;
  return options;
}

class VulkanModels : public testing::Test {
 protected:
  void SetUp() override {
    const std::string missing = missing_device("vulkan", TENON_VULKAN_PLUGIN);
    if (!missing.empty()) GTEST_SKIP() << missing;
  }
};

std::vector<Token> question(const Model& model, std::string_view text) {
  const TextPart prompt[] = {
      {"<|im_start|>user\n", true}, {text, false}, {"<|im_end|>\n<|im_start|>assistant\n", true}};
  return model.tokenizer()->encode(prompt, false);
}

TEST_F(VulkanModels, GoOnWithAStoryTokenForToken) {
  const std::string path = shared_path("models/stories260K-f32.gguf");
  TENON_SKIP_WITHOUT(path);
  const auto story =
      nlohmann::json::parse(read_text(shared_path("models/stories260K.greedy.json")));
  auto expected = story.at("greedy_tokens").get<std::vector<Token>>();
  expected.resize(40);
  Session session(Engine::create(Model::load(path, options_for("vulkan"))));
  session.append(story.at("prompt_tokens").get<std::vector<Token>>());
  EXPECT_EQ(generate(session, 40), expected);
}

TEST_F(VulkanModels, AnswerWithEveryCacheAsTheReference) {
  for (const CacheType cache : {CacheType::F32, CacheType::F16, CacheType::Int8}) {
    SCOPED_TRACE(info_of(cache).name);
    std::vector<std::vector<Token>> answers;
    for (const char* backend : {"vulkan", "reference"}) {
      ModelOptions options = options_for(backend);
      options.cache_type = cache;
      Session session(Engine::create(Model::load(kDemo, std::move(options))));
      session.append(question(session.engine()->model(), "What is the capital of Norway?"));
      answers.push_back(generate(session, 12));
    }
    EXPECT_EQ(answers[0], answers[1]);
  }
}

/// Two concurrent threads share steps; the rows of a step do not depend on that.
TEST_F(VulkanModels, AnswerTwoAtOnceAsOneAfterTheOther) {
  const auto engine = Engine::create(Model::load(kDemo, options_for("vulkan")));
  const char* const texts[] = {"What is the capital of Norway?", "What is the capital of Italy?"};
  const auto answer = [&](const char* text) {
    Session session(engine);
    session.append(question(engine->model(), text));
    return generate(session, 12);
  };
  const std::vector<Token> alone[] = {answer(texts[0]), answer(texts[1])};
  std::vector<Token> together[2];
  std::thread other([&] { together[1] = answer(texts[1]); });
  together[0] = answer(texts[0]);
  other.join();
  EXPECT_EQ(together[0], alone[0]);
  EXPECT_EQ(together[1], alone[1]);
}

TEST_F(VulkanModels, SayWhichMemoryIsMissing) {
  ModelOptions options = options_for("vulkan");
  options.backend_options = {{"memory_limit", "100000"}};
  try {
    static_cast<void>(Model::load(kDemo, std::move(options)));
    FAIL() << "it fits";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::NoMemory);
    EXPECT_THAT(error.what(), testing::HasSubstr("100000"));
  }
}

}  // namespace
}  // namespace tenon::golden
#endif
