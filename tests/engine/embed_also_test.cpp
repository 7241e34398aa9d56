// One model for text and for rows of texts ("embeddings" is "also"): rows and logits equal those of
// models opened for either, with one copy of the weights and turns between an engine and an
// embedder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/embedder.h"
#include "engine/session.h"
#include "tests/base/expect_error.h"
#include "tests/engine/delayed_model.h"
#include "tests/engine/random_tiny.h"
#include "tests/engine/tiny_bert.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

using testing::HasSubstr;

constexpr uint32_t kSlice = 32;

std::vector<float> rows_of(const std::shared_ptr<const Model>& model, Pooling pooling,
                           const std::vector<uint32_t>& sizes) {
  Embedder embedder(model, {.pooling = pooling});
  std::vector<EmbedderText> texts;
  uint64_t rows = 0;
  for (const uint32_t size : sizes) {
    texts.push_back({make_tokens(size, size, model->spec().vocab)});
    embedder.check(texts.back(), texts.size() - 1);
    rows += embedder.num_rows(texts.back());
  }
  std::vector<float> values(rows * embedder.info().dimensions);
  embedder.embed(texts, values.data(), UINT64_MAX);
  return values;
}

class EmbedAlso : public testing::TestWithParam<const char*> {
 protected:
  EmbedAlso() {
    write_random_model(System::real(), path_, std::string("tiny-") + GetParam(), "q8_0");
  }
  [[nodiscard]] std::shared_ptr<const Model> load(Embeddings embeddings,
                                                  uint32_t context = 128) const {
    ModelOptions options;
    options.embeddings = embeddings;
    options.slice = kSlice;
    options.threads = 2;
    options.context = context;
    return Model::load(path_, std::move(options));
  }
  const TempFolder folder_;
  const std::string path_ = folder_.path("model.gguf");
};

TEST_P(EmbedAlso, GivesTheRowsOfAModelForRows) {
  const auto on = load(Embeddings::On);
  const auto also = load(Embeddings::Also);
  // Several texts per step, and texts in slices.
  const std::vector<uint32_t> sizes = {5, 1, 17, 100, 3, 33, 128};
  for (const Pooling pooling : {Pooling::None, Pooling::Mean, Pooling::First, Pooling::Last}) {
    EXPECT_TRUE(same_bits(rows_of(also, pooling, sizes), rows_of(on, pooling, sizes)))
        << static_cast<int>(pooling);
  }
}

TEST_P(EmbedAlso, GivesTheLogitsOfAModelForText) {
  const auto also = load(Embeddings::Also);
  Session session(Engine::create(also));
  Session expected(Engine::create(load(Embeddings::Off)));
  const std::vector<Token> tokens = make_tokens(70, 1, also->spec().vocab);
  const std::vector<float> rows = rows_of(also, Pooling::Mean, {40});
  EXPECT_TRUE(same_bits(evaluate_all(session, tokens), evaluate_all(expected, tokens)));
  EXPECT_TRUE(same_bits(rows_of(also, Pooling::Mean, {40}), rows));
  EXPECT_EQ(generate(session, 5), generate(expected, 5));
}

TEST_P(EmbedAlso, HasOneCopyOfTheWeights) {
  const auto also = load(Embeddings::Also);
  const auto off = load(Embeddings::Off);
  EXPECT_EQ(also->executable().memory_bytes(TENON_MEMORY_WEIGHTS),
            off->executable().memory_bytes(TENON_MEMORY_WEIGHTS));
  EXPECT_EQ(also->memory(64).weights_bytes, off->memory(64).weights_bytes);
  EXPECT_EQ(also->memory(64).kv_bytes, off->memory(64).kv_bytes);
}

TEST_P(EmbedAlso, CountsTheCacheOfItsTexts) {
  const auto more = [&](uint32_t context) {
    const auto also = load(Embeddings::Also, context);
    EXPECT_EQ(Embedder(also, {}).info().max_tokens, context);
    return also->memory(64).scratch_bytes -
           load(Embeddings::Off, context)->memory(64).scratch_bytes;
  };
  EXPECT_GT(more(64), 0u);
  EXPECT_GE(more(192), more(64));
}

INSTANTIATE_TEST_SUITE_P(Of, EmbedAlso,
                         testing::Values("llama", "qwen3", "gemma3n", "qwen3next", "mamba",
                                         "deepseek2", "mimo2", "rwkv7"),
                         [](const auto& instance) { return std::string(instance.param); });

ModelOptions opened_also() {
  ModelOptions options;
  options.embeddings = Embeddings::Also;
  options.slice = kSlice;
  options.threads = 2;
  options.context = 256;
  return options;
}

TEST(EmbedAlsoOf, TextsThatAreTooLongIsRefused) {
  Embedder embedder(load_tiny({}, opened_also()), {});
  EmbedderText text{make_tokens(257)};
  expect_error(Code::Limit, HasSubstr("has 257 tokens > 256"), [&] { embedder.check(text, 0); });
}

TEST(EmbedAlsoOf, ModelsThatHaveNoLogitsIsRefused) {
  expect_error(Code::Unsupported,
               HasSubstr("embeddings is \"also\", but \"bert\" is an encoder without logits"),
               [] { load_source(TinyBert{}.source(), opened_also()); });
  const TempFolder folder;
  write_random_model(System::real(), folder.path("m"), "tiny-t5", "f32");
  expect_error(Code::Unsupported, HasSubstr("is an encoder and a decoder"),
               [&] { Model::load(folder.path("m"), opened_also()); });
}

/// A busy engine and an embedder both get turns, and neither sees the other's values.
TEST(EmbedAlsoOf, ABusyEngineEndsBothWithTheirBits) {
  const auto model = load_tiny({}, opened_also());
  const std::vector<uint32_t> sizes = {7, 90, 200};
  const std::vector<float> expected = rows_of(model, Pooling::Last, sizes);
  const auto engine = Engine::create(model);
  const std::vector<Token> tokens = make_tokens(120);
  const auto logits = [&] {
    Session session(engine);
    return evaluate_all(session, tokens);
  };
  const std::vector<float> expected_logits = logits();
  std::atomic<bool> ended = false;
  std::atomic<int> texts = 0;
  std::thread busy([&] {
    do {
      EXPECT_TRUE(same_bits(logits(), expected_logits));
      ++texts;
    } while (!ended);
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(same_bits(rows_of(model, Pooling::Last, sizes), expected));
  }
  ended = true;
  busy.join();
  EXPECT_GT(texts, 0);
}

/// Steps that the engine left on a device with a queue end first.
TEST(EmbedAlsoOf, StepsUnderWayEndFirst) {
  ModelOptions options = on_delayed({.steps = 2, .step_us = 300});
  options.embeddings = Embeddings::Also;
  const auto model = load_tiny({}, std::move(options));
  const std::vector<float> expected = rows_of(model, Pooling::Mean, {40});
  const auto engine = Engine::create(model);
  const auto answer = [&](bool embeds) {
    Session session(engine, {200});
    session.append(make_tokens(20));
    const auto generation = session.submit(greedy_sampler(), limits(60));
    std::vector<Token> tokens;
    for (;;) {
      (void)engine->wait(*generation, UINT64_MAX);
      const Engine::Fetched fetched = engine->fetch(*generation);
      if (fetched.has_token) tokens.push_back(fetched.token);
      if (!fetched.has_token && fetched.ended) return tokens;
      if (embeds) {
        EXPECT_TRUE(same_bits(rows_of(model, Pooling::Mean, {40}), expected));
      }
    }
  };
  EXPECT_EQ(answer(true), answer(false));
}

/// Another caller holds the turn: an embedder ends at its deadline, and when cancelled.
TEST(EmbedAlsoOf, WaitsNoLongerThanItMay) {
  const auto model = load_tiny({}, opened_also());
  Embedder embedder(model, {});
  const std::vector<EmbedderText> texts = {{make_tokens(9)}};
  std::vector<float> row(embedder.info().dimensions);
  const std::unique_lock turn(model->turn());
  std::thread late([&] {
    expect_error(Code::Deadline, HasSubstr("after 0 of 1 texts"),
                 [&] { embedder.embed(texts, row.data(), System::real()->now_ns() + 20'000'000); });
  });
  late.join();
  std::thread cancelled([&] {
    expect_error(Code::Cancelled, HasSubstr("after 0 of 1 texts"),
                 [&] { embedder.embed(texts, row.data(), UINT64_MAX); });
  });
  while (model->turn().num_waiting() == 0) std::this_thread::yield();
  embedder.cancel();
  cancelled.join();
}

}  // namespace
}  // namespace tenon
