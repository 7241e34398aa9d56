// Prediction blocks as a drafter: they change no answer, and they guess what the block alone gives
// for the same tokens and hidden states (engine/prediction_block.h).
#include "engine/block_drafter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/prediction_block.h"
#include "model/program_runner.h"
#include "tests/engine/tiny_engine.h"
#include "tests/golden/golden_model.h"

namespace tenon {
namespace {

using golden::GoldenModel;

constexpr uint64_t kAnswerTokens = 60;

EngineOptions block_engine(Speculation speculation) {
  EngineOptions options = unbounded_engine();
  options.prefix_cache = true;
  options.speculation = speculation;
  return options;
}

class BlockDrafters : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] std::shared_ptr<const Model> load(uint32_t draft_max = 16) const {
    ModelOptions options;
    options.cache_type = CacheType::F32;
    options.slice = 64;
    options.threads = 1;
    options.predictions = true;
    options.draft_max = draft_max;
    const std::shared_ptr<const ByteSource> source = golden_.source();
    return Model::load(std::span(&source, 1), std::move(options));
  }
  [[nodiscard]] std::vector<Token> prompt(uint32_t seed, uint32_t count) const {
    return make_tokens(count, seed, static_cast<uint32_t>(golden_.vocab()));
  }

  const GoldenModel golden_{GetParam(), "prediction"};
};

/// Texts of requests that run at once.
std::vector<std::vector<Token>> texts_of(const std::shared_ptr<Engine>& engine, uint32_t vocab) {
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::shared_ptr<Generation>> generations;
  for (uint32_t i = 0; i < 6; ++i) {
    auto& session = *sessions.emplace_back(std::make_unique<Session>(engine, SessionOptions{200}));
    session.append(make_tokens(7 + 9 * i, 1 + i, vocab));
    Sampler sampler;
    sampler.set("seed", int64_t{i});
    sampler.set("temperature", i % 3 == 0 ? 0.0 : 0.8);
    if (i % 2 == 1) sampler.set("repeat_penalty", 1.2);
    generations.push_back(session.submit(sampler, limits(kAnswerTokens + i)));
  }
  std::vector<std::vector<Token>> texts;
  for (size_t i = 0; i < sessions.size(); ++i) {
    while (!engine->fetch(*generations[i]).ended) (void)engine->wait(*generations[i], UINT64_MAX);
    texts.emplace_back(sessions[i]->tokens().begin(), sessions[i]->tokens().end());
  }
  return texts;
}

TEST_P(BlockDrafters, ChangeNoAnswer) {
  const auto model = load();
  const auto vocab = static_cast<uint32_t>(golden_.vocab());
  const auto expected = texts_of(Engine::create(model, block_engine(Speculation::Off)), vocab);
  for (const Speculation speculation : {Speculation::Forced, Speculation::Auto}) {
    const auto engine = Engine::create(model, block_engine(speculation));
    EXPECT_EQ(texts_of(engine, vocab), expected);
    ASSERT_NE(engine->block_drafter(), nullptr);
    if (speculation == Speculation::Auto) continue;
    EXPECT_GT(engine->block_drafter()->stats().guessed_tokens, 50U) << engine->describe_drafters();
    EXPECT_EQ(engine->block_drafter()->stats().given_up, 0U) << engine->describe_drafters();
  }
}

TEST_P(BlockDrafters, WithoutMemoryLeaveTheEngineToItself) {
  const auto model = load();
  const auto vocab = static_cast<uint32_t>(golden_.vocab());
  const auto expected = texts_of(Engine::create(model, block_engine(Speculation::Off)), vocab);
  EngineOptions options = block_engine(Speculation::Forced);
  options.draft_bytes = 1;
  const auto engine = Engine::create(model, options);
  EXPECT_EQ(texts_of(engine, vocab), expected);
  EXPECT_GT(engine->block_drafter()->stats().given_up, 0U);
  EXPECT_EQ(engine->metrics().draft_kv_held_bytes, 0U);
}

/// Hidden states of a text's tokens, from the trunk.
std::vector<float> hidden_of(const Model& model, std::span<const Token> text) {
  const ModelProgram& trunk = model.trunk();
  const uint32_t logits = trunk.program.view().logits;
  const std::span<const uint32_t> results = trunk.program.results();
  const uint32_t hidden = results[results[0] == logits ? 1 : 0];
  const std::scoped_lock turn(model.turn());
  ProgramRunner runner(trunk, {}, model.options().system);
  std::vector<float> rows;
  for (uint32_t past = 0; past < text.size();) {
    const uint32_t count = std::min(64U, static_cast<uint32_t>(text.size()) - past);
    runner.clear();
    runner.add({.text = text, .past = past, .num_tokens = count, .num_outputs = count});
    (void)runner.bind_own(logits, "logits");
    const std::span<const float> of_hidden = runner.bind_own(hidden, "hidden states");
    runner.run(nullptr);
    rows.insert(rows.end(), of_hidden.begin(), of_hidden.end());
    past += count;
  }
  return rows;
}

TEST_P(BlockDrafters, GuessWhatTheBlockGives) {
  const auto model = load(1);
  const bool has_state = std::ranges::any_of(
      model->program().groups(),
      [](const tenon_cache_group& group) { return group.kind == TENON_CACHE_STATE; });
  if (has_state) GTEST_SKIP() << "steps without guesses follow wrong ones";
  const std::vector<Token> before = prompt(3, 20);
  const auto engine = Engine::create(model, block_engine(Speculation::Forced));
  Session session(engine, SessionOptions{200});
  session.append(before);
  const auto generation = session.submit(greedy_sampler(), limits(kAnswerTokens));
  while (!engine->fetch(*generation).ended) (void)engine->wait(*generation, UINT64_MAX);
  const std::vector<Token> text(session.tokens().begin(), session.tokens().end());

  // The block alone reads each token of the answer with the row that it was drawn from.
  const std::vector<float> hidden = hidden_of(*model, text);
  const auto answer = static_cast<uint32_t>(text.size() - before.size());
  PredictionBlock block(model, 0, answer);
  block.add(std::span(text).subspan(before.size()),
            std::span(hidden).subspan((before.size() - 1) * block.width(),
                                      size_t{answer} * block.width()));
  std::vector<Token> guesses;
  {
    const std::scoped_lock turn(model->turn());
    while (block.run(nullptr) > 0) {
      const size_t vocab = model->spec().vocab;
      for (size_t row = 0; row < block.logits().size() / vocab; ++row) {
        const std::span<const float> logits = block.logits().subspan(row * vocab, vocab);
        guesses.push_back(static_cast<Token>(std::ranges::max_element(logits) - logits.begin()));
      }
    }
  }
  const auto is_end = [&](Token token) { return model->tokenizer()->is_end(token); };
  if (std::ranges::any_of(guesses, is_end)) GTEST_SKIP() << "ends are not guessed";
  uint64_t guessed = 0;
  uint64_t right = 0;
  // A step ends with token i of the answer; its guess is that of token i + 1. The last token has no
  // guess beside it.
  for (uint32_t i = 0; i + 2 < answer;) {
    const bool is_right = guesses[i] == text[before.size() + i + 1];
    ++guessed;
    right += is_right ? 1 : 0;
    i += is_right ? 2 : 1;
  }
  const DraftStats stats = engine->block_drafter()->stats();
  EXPECT_EQ(stats.guessed_tokens, guessed);
  EXPECT_EQ(stats.right_tokens, right);
}

INSTANTIATE_TEST_SUITE_P(Of, BlockDrafters,
                         testing::Values("glm4moe_prediction", "deepseek2_prediction",
                                         "qwen35_prediction", "mimo2_prediction",
                                         "nemotron_h_moe_prediction", "qwen3next_prediction",
                                         "step35_prediction"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace tenon
