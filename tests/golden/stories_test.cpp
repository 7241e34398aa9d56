// A published model with 260 thousand parameters continues a story exactly as elsewhere.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/engine/tiny_engine.h"
#include "tests/golden/golden.h"

namespace tenon::golden {
namespace {

class Stories : public testing::Test {
 protected:
  void SetUp() override {
    TENON_SKIP_WITHOUT(path_);
    story_ = nlohmann::json::parse(read_text(shared_path("models/stories260K.greedy.json")));
  }
  [[nodiscard]] std::vector<Token> tokens(const char* key) const {
    return story_.at(key).get<std::vector<Token>>();
  }
  [[nodiscard]] std::vector<Token> continue_story(const char* backend, uint32_t slice,
                                                  size_t count) const {
    ModelOptions options;
    options.backend = backend;
    options.slice = slice;
    options.threads = 2;
    Session session(Engine::create(Model::load(path_, std::move(options))));
    session.append(tokens("prompt_tokens"));
    return generate(session, static_cast<uint32_t>(count));
  }

  const std::string path_ = shared_path("models/stories260K-f32.gguf");
  nlohmann::json story_;
};

TEST_F(Stories, ThePromptHasItsTokens) {
  ModelOptions options;
  options.vocabulary_only = true;
  const auto model = Model::load(path_, std::move(options));
  EXPECT_EQ(model->tokenizer()->encode(story_.at("prompt").get<std::string>(), {true, false}),
            tokens("prompt_tokens"));
}

TEST_F(Stories, GoOnTokenForToken) {
  std::vector<Token> expected = tokens("greedy_tokens");
  EXPECT_EQ(continue_story("cpu", 512, expected.size()), expected);
  EXPECT_EQ(continue_story("cpu", 2, expected.size()), expected);
  expected.resize(40);  // the reference is slow
  EXPECT_EQ(continue_story("reference", 512, expected.size()), expected);
}

TEST_F(Stories, TheTokensSpellTheText) {
  ModelOptions options;
  options.vocabulary_only = true;
  const auto tokenizer = Model::load(path_, std::move(options))->tokenizer();
  DecodeOptions inside_a_text;
  inside_a_text.strip_space_prefix = false;
  EXPECT_EQ(tokenizer->decode(tokens("greedy_tokens"), inside_a_text),
            story_.at("text").get<std::string>());
}

}  // namespace
}  // namespace tenon::golden
