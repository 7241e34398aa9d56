// Tiny models of many kinds against logits computed elsewhere (architectures/README.md of the test
// vectors): the largest difference as a part of the largest logit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "tests/engine/tiny_engine.h"
#include "tests/golden/golden.h"

namespace tenon::golden {
namespace {

constexpr double kMaxReference = 3e-5;
constexpr double kMaxCpu = 2e-4;

// clang-format off
constexpr const char* kVectors[] = {
    "bailingmoe",
    "cohere2",
    "command-r",
    "ernie4_5",
    "exaone4",
    "exaone4-swa64",
    "gemma",
    "gemma2",
    "gemma3",
    "glm4",
    "granite",
    "granitemoe",
    "hunyuan-dense",
    "hunyuan-moe",
    "internlm2",
    "llama",
    "minicpm",
    "mistral3-yarn",
    "mixtral",
    "nemotron",
    "olmo2",
    "olmo2-swa",
    "olmoe",
    "phi3",
    "phi3-long",
    "phi3-plain",
    "qwen2",
    "qwen2moe",
    "qwen3",
    "qwen3moe",
    "seed_oss",
    "smollm3",
    "stablelm",
};
// clang-format on

std::string vectors(const std::string& name) { return shared_path("architectures/" + name); }

/// The model's file; empty when it is not there and cannot be written.
std::string model_path(const std::string& name) {
  const std::string folder = TENON_BINARY_DIR "/architectures";
  const std::string path = folder + "/" + name + ".gguf";
  if (!std::filesystem::exists(path)) {
    const std::string command = fmt::format("python3 \"{}\" \"{}\" {} > /dev/null 2>&1",
                                            vectors("write_models.py"), folder, name);
    if (std::system(command.c_str()) != 0) return {};
  }
  return path;
}

double largest_difference(std::span<const float> actual, std::span<const float> expected) {
  double difference = 0;
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference = std::max(difference, std::abs(double{actual[i]} - expected[i]));
    largest = std::max(largest, std::abs(double{expected[i]}));
  }
  return difference / largest;
}

class VectorOf : public testing::TestWithParam<const char*> {};

TEST_P(VectorOf, MatchesOnBothBackends) {
  const std::string name = GetParam();
  TENON_SKIP_WITHOUT(vectors("given/" + name + ".logits"));
  const std::string path = model_path(name);
  if (path.empty()) GTEST_SKIP() << "write_models.py does not run: it needs python3 and numpy";
  const std::vector<float> expected = read_floats(vectors("given/" + name + ".logits"));
  std::istringstream in(read_text(vectors("given/" + name + ".tokens")));
  const std::vector<Token> tokens{std::istream_iterator<Token>(in), {}};
  for (const auto& [backend, bound] : {std::pair{"reference", kMaxReference}, {"cpu", kMaxCpu}}) {
    SCOPED_TRACE(backend);
    ModelOptions options;
    options.backend = backend;
    options.cache_type = "f32";
    options.threads = 2;
    Session session(Engine::create(Model::load(path, std::move(options))));
    const std::vector<float> actual = evaluate_all(session, tokens);
    ASSERT_EQ(actual.size(), expected.size());
    EXPECT_LE(largest_difference(actual, expected), bound);
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, VectorOf, testing::ValuesIn(kVectors),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace tenon::golden
