// Rows of texts: bits are independent of the batch, pooling of token rows, and refusals.
#include "engine/embedder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "engine/session.h"
#include "file/open.h"
#include "tests/base/expect_error.h"
#include "tests/engine/random_tiny.h"
#include "tests/engine/tiny_bert.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

using testing::HasSubstr;

std::shared_ptr<const Model> load_rows(std::shared_ptr<const ByteSource> source,
                                       CacheType cache_type = CacheType::F32, uint32_t slice = 16) {
  ModelOptions options;
  options.embeddings = Embeddings::On;
  options.cache_type = cache_type;
  options.slice = slice;
  options.threads = 2;
  return load_source(std::move(source), std::move(options));
}

ModelOptions opened_for(Embeddings embeddings) {
  ModelOptions options;
  options.embeddings = embeddings;
  return options;
}

TinyModel tiny_of(const char* architecture, Format format) {
  TinyModel tiny;
  tiny.architecture = architecture;
  tiny.formats = {format};
  return tiny;
}

std::vector<float> embed(Embedder& embedder, std::vector<EmbedderText> texts) {
  uint64_t rows = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    embedder.check(texts[i], i);
    rows += embedder.num_rows(texts[i]);
  }
  std::vector<float> values(rows * embedder.info().dimensions);
  embedder.embed(texts, values.data(), UINT64_MAX);
  return values;
}

EmbedderText text_of(uint32_t count, uint32_t vocab) { return {make_tokens(count, count, vocab)}; }

// ---- Bits ---------------------------------------------------------------------------------------

class OfArchitecture : public testing::TestWithParam<const char*> {};

TEST_P(OfArchitecture, HasTheSameBitsAloneAndInCompany) {
  const TempFolder folder;
  const std::string path = folder.path("model.gguf");
  write_random_model(System::real(), path, std::string("tiny-") + GetParam(), "q8_0");
  ModelOptions options;
  options.embeddings = Embeddings::On;
  options.slice = 32;  // for decoders: longer texts are sliced
  options.threads = 2;
  const auto model = Model::load(path, std::move(options));
  const uint32_t vocab = model->spec().vocab;
  for (const Pooling pooling : {Pooling::None, Pooling::Mean, Pooling::First, Pooling::Last}) {
    if (GetParam() == std::string("gemma-embedding") && pooling != Pooling::None &&
        model->spec().pooled_widths[0] != 0) {
      continue;
    }
    SCOPED_TRACE(testing::Message() << "pooling " << static_cast<int>(pooling));
    Embedder embedder(model, {.pooling = pooling});
    std::vector<EmbedderText> texts;
    for (const uint32_t count : {5, 1, 40, 33, 2, 100, 31, 32, 3, 1}) {
      texts.push_back(text_of(std::min(count, embedder.info().max_tokens), vocab));
    }
    std::vector<float> alone;
    for (const EmbedderText& text : texts) {
      const std::vector<float> row = embed(embedder, {text});
      alone.insert(alone.end(), row.begin(), row.end());
    }
    EXPECT_EQ(embed(embedder, texts), alone);
    EXPECT_EQ(embed(embedder, texts), alone) << "again, over a used cache";
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, OfArchitecture,
                         testing::Values("bert", "nomic-bert-moe", "jina-bert-v2", "modern-bert",
                                         "gemma-embedding", "qwen3", "gemma3", "mamba2", "rwkv7",
                                         "deepseek2", "qwen35"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Embedder, IsSharedByThreads) {
  const auto model = load_rows(TinyBert{}.source());
  Embedder embedder(model, {});
  std::vector<EmbedderText> texts;
  for (uint32_t i = 1; i <= 40; ++i) texts.push_back(text_of(i, 57));
  const std::vector<float> expected = embed(embedder, texts);
  std::vector<std::vector<float>> all(4);
  std::vector<std::thread> threads;
  for (std::vector<float>& rows : all) {
    threads.emplace_back([&] { rows = embed(embedder, texts); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& rows : all) EXPECT_EQ(rows, expected);
}

// ---- Pooling ------------------------------------------------------------------------------------

std::vector<float> normalised(std::vector<float> row) {
  double squares = 0;
  for (const float x : row) squares += double{x} * x;
  for (float& x : row) x = static_cast<float>(x / std::sqrt(squares));
  return row;
}

void expect_near(std::span<const float> actual, std::span<const float> expected, double error) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], error) << i;
}

TEST(Embedder, PoolsTheRowsOfTokens) {
  for (const auto& source : {TinyBert{}.source(), tiny_source(tiny_of("qwen3", Format::Q8_0))}) {
    const auto model = load_rows(source);
    const EmbedderText text = text_of(37, 57);
    Embedder tokens(model, {.pooling = Pooling::None});
    const std::vector<float> rows = embed(tokens, {text});
    const uint32_t width = tokens.info().dimensions;
    ASSERT_EQ(rows.size(), 37u * width);
    std::vector<float> mean(width);
    for (uint32_t j = 0; j < width; ++j) {
      double sum = 0;
      for (uint32_t i = 0; i < 37; ++i) sum += rows[i * width + j];
      mean[j] = static_cast<float>(sum / 37);
    }
    const std::vector<float> first(rows.begin(), rows.begin() + width);
    const std::vector<float> last(rows.end() - width, rows.end());
    const auto pooled = [&](Pooling pooling) {
      Embedder embedder(model, {.pooling = pooling, .normalize = false});
      return embed(embedder, {text});
    };
    EXPECT_EQ(pooled(Pooling::First), first);
    EXPECT_EQ(pooled(Pooling::Last), last);
    expect_near(pooled(Pooling::Mean), mean, 2e-6);
    Embedder embedder(model, {.pooling = Pooling::Last});
    expect_near(embed(embedder, {text}), normalised(last), 1e-7);
  }
}

TEST(Embedder, CutsRowsBeforeItNormalisesThem) {
  const auto model = load_rows(TinyBert{}.source());
  Embedder whole(model, {.normalize = false});
  Embedder cut(model, {.dimensions = 7});
  const EmbedderText text = text_of(9, 57);
  std::vector<float> expected = embed(whole, {text});
  expected.resize(7);
  expect_near(embed(cut, {text}), normalised(expected), 1e-7);
  EXPECT_EQ(cut.info().dimensions, 7u);
}

/// A decoder's logits are computed from these rows.
TEST(Embedder, GivesTheRowsBehindTheLogits) {
  const TinyModel tiny = tiny_of("llama", Format::F32);
  ModelOptions options;
  options.cache_type = CacheType::F32;
  Session session(tiny_engine(tiny, std::move(options)));
  const std::vector<Token> tokens = make_tokens(50);
  const std::vector<float> logits = evaluate_all(session, tokens);
  Embedder embedder(load_rows(tiny_source(tiny)), {.pooling = Pooling::None});
  const std::vector<float> rows = embed(embedder, {{tokens}});
  const auto file = open_model_file(tiny_source(tiny));
  const TensorInfo& info = *file->find("token_embd.weight");
  std::vector<float> table(info.num_values());
  file->read(info, 0, std::as_writable_bytes(std::span(table)));
  const uint32_t width = embedder.info().dimensions;
  for (size_t t = 0; t < tokens.size(); ++t) {
    for (size_t v = 0; v < 300; ++v) {
      double sum = 0;
      for (uint32_t j = 0; j < width; ++j)
        sum += double{rows[t * width + j]} * table[v * width + j];
      ASSERT_NEAR(logits[t * 300 + v], sum, 1e-4) << t << " " << v;
    }
  }
}

// ---- Classifiers --------------------------------------------------------------------------------

TEST(Embedder, ClassifiesTheFirstRow) {
  const TinyBert tiny{.labels = 2, .pooling_type = 4};
  const auto model = load_rows(tiny.source());
  Embedder embedder(model, {});
  EXPECT_EQ(embedder.info().pooling, Pooling::Rank);
  EXPECT_EQ(embedder.info().dimensions, 2u);
  EXPECT_THAT(embedder.info().labels, testing::ElementsAre("no", "yes"));
  const EmbedderText text = text_of(12, 57);
  Embedder tokens(model, {.pooling = Pooling::None});
  const std::vector<float> rows = embed(tokens, {text});
  const uint32_t width = tiny.width;
  const auto linear = [&](const std::string& name, uint32_t count, std::vector<double> x) {
    const float spread = 1.5f / std::sqrt(static_cast<float>(width));
    const auto weight = TinyBert::values_of(name + ".weight", uint64_t{count} * width, 0, spread);
    const auto bias = TinyBert::values_of(name + ".bias", count, 0, 0.2f);
    std::vector<double> y(bias.begin(), bias.end());
    for (uint32_t i = 0; i < count; ++i) {
      for (uint32_t j = 0; j < width; ++j) y[i] += double{weight[i * width + j]} * x[j];
    }
    return y;
  };
  std::vector<double> hidden = linear("cls", width, {rows.begin(), rows.begin() + width});
  for (double& x : hidden) x = std::tanh(x);
  const std::vector<double> scores = linear("cls.output", 2, hidden);
  const std::vector<float> given = embed(embedder, {text});
  EXPECT_NEAR(given[0], scores[0], 1e-5);
  EXPECT_NEAR(given[1], scores[1], 1e-5);
}

TEST(Embedder, ReadsPairsWithTheTypeOfEachText) {
  const TinyBert tiny{.labels = 1, .pooling_type = 4};
  Embedder embedder(load_rows(tiny.source()), {});
  EmbedderText pair = embedder.read_pair("ab", "c d");
  EXPECT_THAT(pair.tokens, testing::ElementsAre(2, 5, 32, 3, 7, 8, 3));
  EXPECT_EQ(pair.second_begin, 4u);
  const std::vector<float> score = embed(embedder, {pair});
  EmbedderText untyped{pair.tokens};
  EXPECT_GT(std::abs(embed(embedder, {untyped})[0] - score[0]), 1e-4);
  // With equal type rows, the type of a token has no effect.
  TinyBert same = tiny;
  same.equal_types = true;
  Embedder equal(load_rows(same.source()), {});
  EXPECT_EQ(embed(equal, {untyped}), embed(equal, {pair}));
}

TEST(Embedder, RanksByTheCosineWithoutAClassifier) {
  Embedder embedder(load_rows(TinyBert{}.source()), {});
  std::vector<EmbedderText> texts = {embedder.read("abc", TextRole::Document),
                                     embedder.read("x y", TextRole::Document),
                                     embedder.read("abc", TextRole::Query)};
  std::vector<float> scores(2);
  embedder.rank(texts, scores.data(), UINT64_MAX);
  EXPECT_NEAR(scores[0], 1.0, 1e-6);
  EXPECT_LT(scores[1], 0.999);
  const std::vector<float> rows = embed(embedder, texts);
  const std::span<const float> all(rows);
  EXPECT_FLOAT_EQ(scores[1], static_cast<float>(cosine(all.subspan(48, 48), all.subspan(96, 48))));
}

// ---- Texts --------------------------------------------------------------------------------------

TEST(Embedder, PutsTheWordsOfARoleBeforeATextAndTokensAround) {
  Embedder embedder(load_rows(TinyBert{}.source()),
                    {.query_prefix = "q ", .document_prefix = "d "});
  EXPECT_THAT(embedder.read("a", TextRole::Plain).tokens, testing::ElementsAre(2, 5, 3));
  EXPECT_THAT(embedder.read("a", TextRole::Query).tokens, testing::ElementsAre(2, 21, 5, 3));
  EXPECT_THAT(embedder.read("a", TextRole::Document).tokens, testing::ElementsAre(2, 8, 5, 3));
  EXPECT_THAT(embedder.read("[SEP]", TextRole::Plain).tokens,
              testing::Not(testing::Contains(3).Times(2)));
}

TEST(Embedder, RefusesOrCutsLongTexts) {
  const auto model = load_rows(TinyBert{}.source());
  Embedder embedder(model, {});
  EXPECT_EQ(embedder.info().max_tokens, 40u);
  EmbedderText fits = text_of(40, 57);
  EXPECT_NO_THROW(embedder.check(fits, 0));
  EmbedderText text = text_of(41, 57);
  expect_error(Code::Limit, HasSubstr("text 7 has 41 tokens > 40, the most that the model reads"),
               [&] { embedder.check(text, 7); });
  Embedder cutting(model, {.truncate = true});
  cutting.check(text, 0);
  EXPECT_EQ(text.tokens.size(), 40u);
  std::string words;
  for (int i = 0; i < 60; ++i) words += "a ";
  const EmbedderText cut = cutting.read(words, TextRole::Plain);
  ASSERT_EQ(cut.tokens.size(), 40u);
  EXPECT_EQ(cut.tokens.front(), 2);
  EXPECT_EQ(cut.tokens[38], 5);
  EXPECT_EQ(cut.tokens.back(), 3);
}

TEST(Embedder, RefusesTokensThatThereAreNot) {
  Embedder embedder(load_rows(TinyBert{}.source()), {});
  EmbedderText none;
  expect_error(Code::Argument, HasSubstr("text 2 has no tokens"), [&] { embedder.check(none, 2); });
  for (const Token token : {-1, 57, INT32_MAX}) {
    EmbedderText text{{2, token, 3}};
    expect_error(Code::Argument, HasSubstr("is not in the vocabulary of 57"),
                 [&] { embedder.check(text, 0); });
  }
}

// ---- Refusals -----------------------------------------------------------------------------------

TEST(Embedder, NeedsAModelThatWasOpenedForRows) {
  const auto generating = load_tiny();
  expect_error(Code::State, HasSubstr("was opened to generate text; set the option embeddings"),
               [&] { Embedder(generating, {}); });
  const auto rows = load_rows(tiny_source());
  expect_error(Code::State, HasSubstr("was opened for embeddings, it generates no text"),
               [&] { Engine::create(rows); });
  expect_error(Code::Unsupported, HasSubstr("is an encoder without logits"),
               [] { load_source(TinyBert{}.source(), opened_for(Embeddings::Off)); });
}

TEST(Embedder, IsMadeOfDecodersThatNameAPooling) {
  TinyModel tiny;
  tiny.more = [](GgufWriter& file) { file.add("llama.pooling_type", uint32_t{1}); };
  const auto model = load_tiny(tiny);
  EXPECT_TRUE(model->gives_rows());
  Embedder embedder(model, {});
  EXPECT_EQ(embedder.info().pooling, Pooling::Mean);
  EXPECT_NO_THROW(Engine::create(load_tiny(tiny, opened_for(Embeddings::Off))));
}

TEST(Embedder, RefusesWhatTheModelDoesNotHave) {
  const auto model = load_rows(TinyBert{}.source());
  expect_error(Code::Unsupported, HasSubstr("the model has no classifier"),
               [&] { Embedder(model, {.pooling = Pooling::Rank}); });
  expect_error(Code::Argument, HasSubstr("dimensions is 49, but a row has 48"),
               [&] { Embedder(model, {.dimensions = 49}); });
  const TinyBert headless{.labels = 1, .leave_out_head = true, .pooling_type = 4};
  expect_error(Code::Format, HasSubstr("tensor \"cls.output.weight\" is missing"),
               [&] { load_rows(headless.source()); });
  expect_error(Code::Unsupported, HasSubstr("\"bert.pooling_type\" is 5; known are"),
               [&] { load_rows(TinyBert{.pooling_type = 5}.source()); });
  Embedder tokens(model, {.pooling = Pooling::None});
  float score = 0;
  expect_error(Code::Unsupported, HasSubstr("without pooling"),
               [&] { tokens.rank(std::vector{text_of(3, 57)}, &score, UINT64_MAX); });
}

// ---- Deadlines and cancels ----------------------------------------------------------------------

TEST(Embedder, EndsAtItsDeadline) {
  Embedder embedder(load_rows(TinyBert{}.source()), {});
  std::vector<EmbedderText> texts(2000, text_of(40, 57));
  std::vector<float> rows(texts.size() * 48);
  expect_error(Code::Deadline, HasSubstr("the deadline passed after 0 of 2000 texts"),
               [&] { embedder.embed(texts, rows.data(), 1); });
  const uint64_t soon = System::real()->now_ns() + 20'000'000;
  expect_error(Code::Deadline, HasSubstr("of 2000 texts"),
               [&] { embedder.embed(texts, rows.data(), soon); });
  EXPECT_EQ(embed(embedder, {texts[0]}), embed(embedder, {texts[0]}));
}

TEST(Embedder, IsCancelledFromAnotherThread) {
  Embedder embedder(load_rows(TinyBert{}.source()), {});
  std::vector<EmbedderText> texts(20000, text_of(40, 57));
  std::vector<float> rows(texts.size() * 48);
  embedder.cancel();  // no call is running
  std::atomic<bool> ended = false;
  std::thread other([&] {
    while (!ended) {
      embedder.cancel();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  expect_error(Code::Cancelled, HasSubstr("cancelled after"),
               [&] { embedder.embed(texts, rows.data(), UINT64_MAX); });
  ended = true;
  other.join();
  EXPECT_NO_THROW(embed(embedder, {texts[0]}));
}

}  // namespace
}  // namespace tenon
