// Random models: they load, have sensible numbers, and are reproducible.
#include "random_model/random_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "arch/architectures.h"
#include "engine/embedder.h"
#include "file/open.h"
#include "quantize/file_types.h"
#include "tests/base/expect_error.h"
#include "tests/base/faulty_system.h"
#include "tests/base/temp_folder.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

using testing::HasSubstr;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> all_formats() {
  std::vector<std::string> names;
  for (const FormatInfo& info : kFormats) {
    if (info.weight && !is_memory_format(info.id)) names.emplace_back(info.name);
  }
  for (const FileType& type : file_types()) {
    if (type.is_mix()) names.emplace_back(type.name);
  }
  return names;
}

TEST(RandomModel, RunsInEveryFormatWithSaneLogits) {
  const TempFolder folder;
  const std::string path = folder.path("m.gguf");
  for (const std::string& format : all_formats()) {
    SCOPED_TRACE(format);
    write_random_model(System::real(), path, "tiny", format);
    ModelOptions options;
    options.threads = 1;
    Session session(Engine::create(Model::load(path, std::move(options))));
    session.append(make_tokens(5, 1, 512));
    double square = 0;
    std::set<float> values;
    for (const float logit : session.logits()) {
      ASSERT_TRUE(std::isfinite(logit));
      square += double(logit) * logit / 512;
      values.insert(logit);
    }
    EXPECT_GT(std::sqrt(square), 0.5);
    EXPECT_LT(std::sqrt(square), 8.0);
    EXPECT_GT(values.size(), 300u);
  }
}

TEST(RandomModel, OfExpertsRunsWithTheCountsOfItsShape) {
  const TempFolder folder;
  const std::string path = folder.path("m.gguf");
  for (const char* format : {"q4_k_m", "bf16", "iq4_nl"}) {
    SCOPED_TRACE(format);
    write_random_model(System::real(), path, "tiny-moe", format);
    const auto model = Model::load(path, {});
    // Layers of attention 4 x 64 x 256 and 2 x 2 x 64 x 256, router, experts 3 x 256 x 256.
    const uint64_t layer = 196608 + 8 * 256;
    const uint64_t matrices = 2 * layer + 512 * 256;
    const uint64_t norms = 2 * (2 * 256 + 2 * 64) + 256;
    EXPECT_EQ(model->num_parameters(), matrices + norms + 2 * 8 * 196608);
    const StepWork work = model->step_work();
    EXPECT_EQ(work.token_multiplications + work.output_multiplications, matrices + 2 * 2 * 196608);
    Session session(Engine::create(model));
    session.append(make_tokens(5, 1, 512));
    double square = 0;
    for (const float logit : session.logits()) square += double(logit) * logit / 512;
    EXPECT_GT(std::sqrt(square), 0.5);
    EXPECT_LT(std::sqrt(square), 8.0);
  }
}

TEST(RandomModel, DependsOnNothingButShapeFormatAndSeed) {
  const TempFolder folder;
  const auto bytes = [&](const char* format, uint64_t seed) {
    write_random_model(System::real(), folder.path("m"), "tiny", format, {seed, {}});
    return content(folder.path("m"));
  };
  const std::string first = bytes("Q4_K_M", 1);
  EXPECT_EQ(bytes("q4_k_m", 1), first);
  EXPECT_NE(bytes("Q4_K_M", 2), first);
  EXPECT_GT(first.size(), 400000u);
}

TEST(RandomModel, TokenizesText) {
  const TempFolder folder;
  write_random_model(System::real(), folder.path("m"), "tiny", "q8_0");
  const auto model = Model::load(folder.path("m"), {});
  const Tokenizer& tokenizer = *model->tokenizer();
  const std::vector<Token> tokens = tokenizer.encode("the \xc3\xa9t\xc3\xa9\n", {});
  EXPECT_LT(tokens.size(), 10u);  // fewer than the 10 bytes, because of merges
  EXPECT_EQ(tokenizer.decode(tokens, {}), "the \xc3\xa9t\xc3\xa9\n");
}

TEST(RandomModel, ThereIsATinyOneOfEveryArchitecture) {
  const TempFolder folder;
  const std::string path = folder.path("m.gguf");
  for (const NamedArchitecture& one : architectures()) {
    SCOPED_TRACE(one.name);
    write_random_model(System::real(), path, "tiny-" + std::string(one.name), "f32");
    const ModelSpec spec = read_model_spec(*open_model_file(path, {}));
    std::vector<std::vector<float>> logits;  // for an encoder, rows of all tokens
    for (const char* backend : {"reference", "cpu"}) {
      ModelOptions options;
      options.threads = 1;
      options.backend = backend;
      options.cache_type = CacheType::F32;
      const auto model = Model::load(path, std::move(options));
      EXPECT_EQ(model->architecture(), one.name);
      if (spec.pooling) {
        Embedder embedder(model, {.pooling = Pooling::None});
        const EmbedderText text{make_tokens(24, 1, 512)};
        logits.emplace_back(size_t{24} * embedder.info().dimensions);
        embedder.embed(std::span(&text, 1), logits.back().data(), UINT64_MAX);
        continue;
      }
      Session session(Engine::create(model));
      if (model->find(ProgramRole::Encoder) != nullptr) session.set_source(make_tokens(40, 2, 512));
      logits.push_back(evaluate_all(session, make_tokens(24, 1, 512)));
    }
    double error = 0;
    double power = 0;
    for (size_t i = 0; i < logits[0].size(); ++i) {
      error += std::pow(double{logits[1][i]} - logits[0][i], 2);
      power += std::pow(double{logits[0][i]}, 2);
    }
    EXPECT_GT(power, 0.0);
    // An encoder-decoder has the error of two models.
    const double most = spec.encoder_layers.empty() ? 1e-5 : 2e-5;
    EXPECT_LT(error, power * most * most);
  }
}

/// Decays above 0 would make states grow with each token, to infinity after some hundreds.
TEST(RandomModel, StatesDecay) {
  const TempFolder folder;
  const std::string path = folder.path("m.gguf");
  for (const char* architecture : {"mamba", "mamba2", "qwen3next"}) {
    SCOPED_TRACE(architecture);
    write_random_model(System::real(), path, std::string("tiny-") + architecture, "f32");
    const auto file = open_model_file(path);
    size_t seen = 0;
    for (const TensorInfo& tensor : file->tensors()) {
      if (!tensor.name.ends_with(".ssm_a")) continue;
      ++seen;
      std::vector<float> values(tensor.num_values());
      file->read(tensor, 0, std::as_writable_bytes(std::span(values)));
      EXPECT_THAT(values, testing::Each(testing::Lt(0.0f))) << tensor.name;
    }
    EXPECT_GT(seen, 0u);
  }
}

TEST(RandomModel, HasAsManyLayersAsAreAskedFor) {
  const TempFolder folder;
  const std::string path = folder.path("m.gguf");
  write_random_model(System::real(), path, "tiny-lfm2:3", "f32");
  const ModelSpec spec = read_model_spec(*open_model_file(path, {}));
  ASSERT_EQ(spec.layers.size(), 3u);
  EXPECT_EQ(spec.layers[1].attention.heads, 0u);
  EXPECT_GT(spec.layers[2].attention.heads, 0u);  // the list of heads was cut as well
}

TEST(RandomModel, RefusesUnknownNames) {
  const TempFolder folder;
  const auto write = [&](const char* shape, const char* format) {
    write_random_model(System::real(), folder.path("m"), shape, format);
  };
  expect_error(Code::Argument, HasSubstr("nearest name is \"llama-1b\""),
               [&] { write("lama-1b", "q4_0"); });
  expect_error(Code::Argument, HasSubstr("nearest name is \"q4_0\""),
               [&] { write("tiny", "q4-0"); });
  expect_error(Code::Argument, HasSubstr("no weight format \"i32\""),
               [&] { write("tiny", "i32"); });
  for (const char* wrong : {"tiny:0", "tiny:3", "tiny:", "tiny:1x", "tiny:-1"}) {
    expect_error(Code::Argument, HasSubstr("is no number of layers, 1 to 2"),
                 [&] { write(wrong, "q4_0"); });
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path("m")));
}

TEST(RandomModel, CancelledOrFailedItLeavesTheOldFile) {
  const TempFolder folder;
  const std::string path = folder.write("m", std::string("old"));
  const auto write = [&](const std::shared_ptr<System>& system, const RandomModelOptions& options) {
    write_random_model(system, path, "tiny", "q8_0", options);
  };
  expect_error(Code::Cancelled, HasSubstr("cancelled"), [&] {
    write(System::real(), {0, [](double fraction) { return fraction < 0.5; }});
  });
  for (uint64_t n = 0; n < 12; ++n) {
    auto system = std::make_shared<FaultySystem>(n, ENOSPC);
    EXPECT_THROW(write(system, {}), Error) << n;
    EXPECT_TRUE(system->all_released()) << n;
  }
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path("")), {}), 1);
}

}  // namespace
}  // namespace tenon
