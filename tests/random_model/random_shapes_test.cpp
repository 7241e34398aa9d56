// Shapes of random models: complete, and as large as their names say.
#include "random_model/random_shapes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "arch/architectures.h"
#include "random_model/random_model.h"
#include "random_model/random_vocabulary.h"

namespace tenon {
namespace {

/// Parameters of all required tensors of the shape.
double parameters(std::string_view name) {
  const ChosenShape chosen = find_random_shape(name);
  double count = 0;
  for (const WantedTensor& wanted : wanted_tensors(random_model_metadata(chosen))) {
    const bool is_output = wanted.role == TensorRole::Output && !chosen.shape.tied;
    if (!wanted.required && !is_output) continue;
    double values = 1;
    for (const uint64_t size : wanted.shape) values *= static_cast<double>(size);
    count += values;
  }
  return count;
}

TEST(RandomShapes, EveryOneIsWhole) {
  for (const RandomShape& shape : random_shapes()) {
    SCOPED_TRACE(shape.name);
    EXPECT_EQ(shape.heads % std::max(shape.kv_heads, 1u), 0u);
    EXPECT_GE(make_random_vocabulary(shape.vocab).tokens.size(), shape.vocab);
    EXPECT_GT(parameters(shape.name), 0.0);
  }
}

/// Billions of parameters, from the models' cards or papers.
TEST(RandomShapes, PublishedOnesHaveTheParametersOfTheirModels) {
  const std::pair<const char*, double> models[] = {
      {"llama-1b", 1.24},     {"llama-8b", 8.03},        {"qwen3-30b-a3b", 30.5},
      {"gemma3-1b", 1.00},    {"gemma4-26b-a4b", 25.2},  {"gpt-oss-20b", 20.9},
      {"qwen3.5-0.8b", 0.75}, {"qwen3.5-35b-a3b", 34.7}, {"glm-4.7-flash", 29.9},
      {"lfm2-1.2b", 1.17},    {"nemotron-3-nano", 31.6}, {"mamba2-1.3b", 1.34},
      {"rwkv7-1.5b", 1.53},   {"bert-base", 0.109}};
  for (const auto& [name, billions] : models) {
    EXPECT_NEAR(parameters(name) * 1e-9, billions, 0.02 * billions) << name;
  }
}

TEST(RandomShapes, AreCutToTheirFirstLayers) {
  const ChosenShape chosen = find_random_shape("LFM2-1.2b:3");
  EXPECT_EQ(chosen.layers, 3u);
  const Metadata metadata = random_model_metadata(chosen);
  EXPECT_EQ(metadata.get_u32("lfm2.block_count"), 3u);
  EXPECT_LT(parameters("lfm2-1.2b:3"), parameters("lfm2-1.2b"));
}

}  // namespace
}  // namespace tenon
