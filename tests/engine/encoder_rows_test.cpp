// Encoder rows do not depend on the cache type, because they are not cached.
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/embedder.h"
#include "model/model.h"
#include "random_model/random_model.h"
#include "tests/base/temp_folder.h"

namespace tenon {
namespace {

std::vector<float> row_of(const std::string& path, CacheType cache_type) {
  ModelOptions options;
  options.embeddings = Embeddings::On;
  options.cache_type = cache_type;
  options.threads = 1;
  const auto model = Model::load(path, std::move(options));
  Embedder embedder(model, {.normalize = false});
  const std::vector<Token> tokens{5, 9, 40, 7, 3, 11};
  EmbedderText text{tokens};
  embedder.check(text, 0);
  std::vector<float> values(embedder.num_rows(text) * embedder.info().dimensions);
  embedder.embed(std::span(&text, 1), values.data(), UINT64_MAX);
  return values;
}

TEST(EncoderRows, AreThoseOfF32WhateverTheCacheIs) {
  const TempFolder folder;
  for (const char* name : {"bert", "nomic-bert", "modern-bert", "gemma-embedding", "t5encoder"}) {
    const std::string path = folder.path("m.gguf");
    write_random_model(System::real(), path, std::string("tiny-") + name, "f32");
    const std::vector<float> exact = row_of(path, CacheType::F32);
    for (const CacheType type : {CacheType::F16, CacheType::Int8}) {
      EXPECT_EQ(row_of(path, type), exact) << name << info_of(type).name;
    }
    std::filesystem::remove(path);
  }
}

TEST(EncoderRows, OfADecoderGoThroughItsCache) {
  const TempFolder folder;
  const std::string path = folder.path("m.gguf");
  write_random_model(System::real(), path, "tiny-qwen3", "f32");
  EXPECT_NE(row_of(path, CacheType::F16), row_of(path, CacheType::F32));
}

}  // namespace
}  // namespace tenon
