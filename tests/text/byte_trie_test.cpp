// The trie agrees with a map, for any strings.
#include "text/tokenizer/byte_trie.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace tenon {
namespace {

TEST(ByteTrie, AnEmptyOneKnowsNothing) {
  for (const ByteTrie& trie : {ByteTrie(), ByteTrie::Builder().build()}) {
    for (int byte = 0; byte < 256; ++byte) {
      EXPECT_EQ(trie.child(ByteTrie::kRoot, static_cast<uint8_t>(byte)), ByteTrie::kNone);
    }
    EXPECT_EQ(trie.find("a"), ByteTrie::kNoValue);
  }
}

TEST(ByteTrie, OfEqualStringsTheLastCounts) {
  ByteTrie::Builder builder;
  builder.insert("ab", 1);
  builder.insert("a", 2);
  builder.insert("ab", 3);
  const ByteTrie trie = builder.build();
  EXPECT_EQ(trie.find("ab"), 3);
  EXPECT_EQ(trie.find("a"), 2);
  EXPECT_EQ(trie.find("b"), ByteTrie::kNoValue);
}

TEST(ByteTrie, KnowsWhatAMapKnows) {
  std::mt19937 random(1);
  for (const uint32_t letters : {1u, 2u, 3u, 20u, 256u}) {
    ByteTrie::Builder builder;
    std::map<std::string, int32_t> map;
    for (int i = 0; i < 20'000; ++i) {
      std::string text;
      for (size_t size = 1 + random() % (i == 0 ? 5'000 : 6); text.size() < size;) {
        text += static_cast<char>(255 - random() % letters);
      }
      builder.insert(text, i);
      map[text] = i;
    }
    const ByteTrie trie = builder.build();
    for (const auto& [text, value] : map) {
      ASSERT_EQ(trie.find(text), value);
      const std::string longer = text + static_cast<char>(random());
      const auto known = map.find(longer);
      ASSERT_EQ(trie.find(longer), known == map.end() ? ByteTrie::kNoValue : known->second);
    }
  }
}

}  // namespace
}  // namespace tenon
