// Logits of whole models against exact arithmetic (float64 on the decoded weights) in
// vectors/parity: 48 tokens, 512 logits each.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/engine/tiny_engine.h"
#include "tests/golden/golden.h"

namespace tenon::golden {
namespace {

constexpr size_t kVocab = 512;
constexpr size_t kTokens = 48;

std::string folder() { return shared_path("vectors/parity"); }

/// A model of the folder and its tolerances on the CPU.
struct Parity {
  const char* name;
  double max_rmse;  ///< 0 means no bound
  double max_kl;    ///< 1.05 times llama.cpp's value (performance.md)
};

/// Shows the name in test reports.
void PrintTo(const Parity& parity, std::ostream* out) { *out << parity.name; }

constexpr double kLlamaCpp = 1.05;
/// With 14-bit activations; llama.cpp reaches 8.8e-5 with bf16 ones.
constexpr double kMaxFixedKl = 1e-6;
constexpr Parity kModels[] = {
    {"llama-f32", 1e-4, 1e-9},
    {"qwen2-f32", 1e-4, 1e-9},
    {"qwen3-f32", 1e-4, 1e-9},
    {"llama-F16", 1e-4, kLlamaCpp * 1.5e-6},
    {"llama-BF16", 1e-3, kMaxFixedKl},
    {"llama-Q8_0", 0, kLlamaCpp * 1.3e-3},
    {"llama-Q4_0", 0, kLlamaCpp * 1.1e-3},
    {"llama-Q4_1", 0, kLlamaCpp * 1.2e-3},
    {"llama-Q5_0", 0, kLlamaCpp * 1.1e-3},
    {"llama-Q5_1", 0, kLlamaCpp * 1.3e-3},
    {"llama-Q2_K", 0, kLlamaCpp * 2.7e-3},
    {"llama-Q3_K_S", 0, kLlamaCpp * 2.2e-3},
    {"llama-Q4_K_S", 0, kLlamaCpp * 2.6e-3},
    {"llama-Q5_K_S", 0, kLlamaCpp * 2.3e-3},
    {"llama-Q6_K", 0, kLlamaCpp * 2.3e-3},
    {"llama-IQ4_NL", 0, kLlamaCpp * 1.2e-3},
    {"llama-IQ4_XS", 0, kLlamaCpp * 2.6e-3},
};

std::vector<Token> read_tokens() {
  std::istringstream in(read_text(folder() + "/tokens.txt"));
  return {std::istream_iterator<Token>(in), {}};
}

/// Logits [kTokens, kVocab] of a model of the folder.
std::vector<float> logits_of(const std::string& name, const char* backend, CacheType cache_type,
                             const char* bf16_activations = "fixed") {
  ModelOptions options;
  if (std::string_view(bf16_activations) != "fixed") {
    options.backend_options = {{"bf16_activations", bf16_activations}};
  }
  options.backend = backend;
  options.cache_type = cache_type;
  options.threads = 2;
  Session session(Engine::create(Model::load(folder() + "/" + name + ".gguf", std::move(options))));
  return evaluate_all(session, read_tokens());
}

std::vector<float> expected_of(const std::string& name) {
  return read_floats(folder() + "/" + name + ".logits");
}

class ParityOf : public testing::TestWithParam<Parity> {
 protected:
  void SetUp() override {
    TENON_SKIP_WITHOUT(folder());
    ASSERT_EQ(read_tokens().size(), kTokens);
    ASSERT_EQ(expected_of(GetParam().name).size(), kTokens * kVocab);
  }
};

TEST_P(ParityOf, CpuComesNearTheExactLogits) {
  const Parity& model = GetParam();
  const std::vector<float> actual = logits_of(model.name, "cpu", CacheType::F32);
  const std::vector<float> expected = expected_of(model.name);
  ASSERT_EQ(actual.size(), expected.size());
  const double kl = mean_kl(actual, expected, kVocab);
  RecordProperty("mean_kl", fmt::format("{:.3g}", kl));
  EXPECT_LE(kl, model.max_kl);
  if (model.max_rmse > 0) {
    EXPECT_LE(relative_rmse(actual, expected), model.max_rmse);
  }
}

TEST_P(ParityOf, CpuKeepsTheBoundWithAHalfPrecisionCache) {
  const Parity& model = GetParam();
  const std::vector<float> actual = logits_of(model.name, "cpu", CacheType::F16);
  // Float models have no bound of their own; the bound of f16 weights suits an f16 cache.
  const double max_kl = std::max(model.max_kl, kLlamaCpp * 1.5e-6);
  EXPECT_LE(mean_kl(actual, expected_of(model.name), kVocab), max_kl);
}

TEST_P(ParityOf, ReferenceIsExactUpToFloat) {
  const Parity& model = GetParam();
  const std::vector<float> actual = logits_of(model.name, "reference", CacheType::F32);
  EXPECT_LE(relative_rmse(actual, expected_of(model.name)), 1e-6);
}

TEST(Parity, OfBf16IsThatOfFloatsOnDemand) {
  TENON_SKIP_WITHOUT(folder());
  const std::vector<float> actual = logits_of("llama-BF16", "cpu", CacheType::F32, "f32");
  const std::vector<float> expected = expected_of("llama-BF16");
  EXPECT_LE(relative_rmse(actual, expected), 1e-4);
  EXPECT_LE(mean_kl(actual, expected, kVocab), 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Models, ParityOf, testing::ValuesIn(kModels), [](const auto& instance) {
  std::string name = instance.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(Parity, QuantisedCachesStayNearTheF32Cache) {
  TENON_SKIP_WITHOUT(folder());
  // Measured: 2e-7, 4.2e-4, 9.5e-2. A random model is more sensitive to its cache than a trained
  // one.
  const std::vector<float> exact = logits_of("llama-f32", "cpu", CacheType::F32);
  EXPECT_LE(mean_kl(logits_of("llama-f32", "cpu", CacheType::F16), exact, kVocab), 1e-6);
  EXPECT_LE(mean_kl(logits_of("llama-f32", "cpu", CacheType::Int8), exact, kVocab), 6e-4);
  EXPECT_LE(mean_kl(logits_of("llama-f32", "cpu", CacheType::Q4), exact, kVocab), 1.3e-1);
}

TEST(Parity, EveryModelOfTheFolderHasABound) {
  TENON_SKIP_WITHOUT(folder());
  std::vector<std::string> bounded;
  for (const Parity& model : kModels) bounded.emplace_back(model.name);
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.path().extension() != ".gguf") continue;
    EXPECT_THAT(bounded, testing::Contains(entry.path().stem().string()));
  }
}

}  // namespace
}  // namespace tenon::golden
