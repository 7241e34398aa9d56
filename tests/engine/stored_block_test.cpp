// Records of blocks: a record that differs in anything is not the one that is looked for.
#include "engine/stored_block.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

TEST(StoredBlock, IsNoOtherOne) {
  const std::array<Token, 3> tokens{5, 6, 7};
  const StoredBlock block{{1, 2}, {3, 4}, 1, 64, 50, tokens};
  std::vector<std::byte> record(block.size_bytes());
  for (std::byte& value : block.block_in(record)) value = std::byte{42};
  block.seal(record);
  EXPECT_TRUE(block.matches(record));
  for (size_t at = 0; at < record.size(); ++at) {
    for (const int bit : {0, 3, 7}) {
      record[at] ^= static_cast<std::byte>(1 << bit);
      EXPECT_FALSE(block.matches(record)) << at;
      record[at] ^= static_cast<std::byte>(1 << bit);
    }
  }
  for (size_t size = 0; size < record.size(); ++size) {
    EXPECT_FALSE(block.matches(std::span(record).first(size))) << size;
  }
  record.push_back({});
  EXPECT_FALSE(block.matches(record));
  record.pop_back();
  EXPECT_TRUE(block.matches(record));

  const std::array<Token, 3> others{5, 6, 8};
  for (const StoredBlock& other :
       {StoredBlock{{9, 2}, {3, 4}, 1, 64, 50, tokens},
        StoredBlock{{1, 9}, {3, 4}, 1, 64, 50, tokens},
        StoredBlock{{1, 2}, {9, 4}, 1, 64, 50, tokens},
        StoredBlock{{1, 2}, {3, 9}, 1, 64, 50, tokens},
        StoredBlock{{1, 2}, {3, 4}, 2, 64, 50, tokens},
        StoredBlock{{1, 2}, {3, 4}, 1, 96, 50, tokens},
        StoredBlock{{1, 2}, {3, 4}, 1, 64, 54, std::span(tokens).first(2)},
        StoredBlock{{1, 2}, {3, 4}, 1, 64, 50, others}}) {
    EXPECT_FALSE(other.matches(record));
  }
}

TEST(StoredBlock, BitsDependOnModelAndCache) {
  const auto id_of = [](const TinyModel& tiny, CacheType type, std::string backend = "cpu") {
    ModelOptions options;
    options.cache_type = type;
    options.backend = std::move(backend);
    return bits_id(*load_tiny(tiny, options));
  };
  const Hash128 id = id_of({}, CacheType::F16);
  EXPECT_EQ(id_of({}, CacheType::F16), id);
  TinyModel other;
  other.seed = 2;
  EXPECT_NE(id_of(other, CacheType::F16), id);
  EXPECT_NE(id_of({}, CacheType::Int8), id);
  EXPECT_NE(id_of({}, CacheType::F16, "reference"), id);
  EXPECT_NE(record_key({1, 2}, 0, id), record_key({1, 2}, 1, id));
}

}  // namespace
}  // namespace tenon
