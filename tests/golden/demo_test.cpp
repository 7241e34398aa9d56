// The project's demo model answers, and stops at the end of its turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/tiny_engine.h"
#include "tests/golden/golden.h"

namespace tenon::golden {
namespace {

using testing::HasSubstr;

const char* const kPath = TENON_TEST_DATA_DIR "/../../examples/models/demo-q8_0.gguf";

std::shared_ptr<const Model> load_demo(ModelOptions options = {}) {
  options.threads = 2;
  return Model::load(kPath, std::move(options));
}

struct Answer {
  std::string text;
  bool ended = false;  ///< an end token came
};

/// The greedy answer to a user's message, at most `limit` tokens.
Answer ask(const std::shared_ptr<Engine>& engine, std::string_view question, uint32_t limit = 64) {
  const std::shared_ptr<const Tokenizer>& tokenizer = engine->model().tokenizer();
  const TextPart prompt[] = {{"<|im_start|>user\n", true},
                             {question, false},
                             {"<|im_end|>\n<|im_start|>assistant\n", true}};
  Session session(engine);
  session.append(tokenizer->encode(prompt, false));
  Sampler sampler = greedy_sampler();
  std::vector<Token> tokens;
  while (tokens.size() < limit) {
    const Token token = session.next(sampler);
    if (tokenizer->is_end(token)) return {tokenizer->decode(tokens), true};
    tokens.push_back(token);
  }
  return {tokenizer->decode(tokens), false};
}

TEST(Demo, KnowsItsCapitals) {
  const auto engine = Engine::create(load_demo());
  for (const auto& [country, capital] : {std::pair{"Norway", "Oslo"}, std::pair{"Italy", "Rome"}}) {
    const Answer answer = ask(engine, fmt::format("What is the capital of {}?", country));
    EXPECT_THAT(answer.text, HasSubstr(capital));
    EXPECT_TRUE(answer.ended) << answer.text;
  }
}

TEST(Demo, AnswersAlikeOnEveryKernelAndBackend) {
  std::vector<std::string> answers;
  for (const char* isa : {"", "portable"}) {
    ModelOptions options;
    if (*isa != 0) options.backend_options = {{"isa", isa}};
    answers.push_back(
        ask(Engine::create(load_demo(std::move(options))), "What is the capital of Norway?").text);
  }
  ModelOptions reference;
  reference.backend = "reference";
  answers.push_back(
      ask(Engine::create(load_demo(std::move(reference))), "What is the capital of Norway?").text);
  EXPECT_THAT(answers, testing::Each(answers.front()));
}

TEST(Demo, TellsAStory) {
  const Answer answer =
      ask(Engine::create(load_demo()), "Tell me a story about a fox named Lily.", 200);
  EXPECT_THAT(answer.text, HasSubstr("Lily"));
  EXPECT_GT(answer.text.size(), 100u);
}

}  // namespace
}  // namespace tenon::golden
