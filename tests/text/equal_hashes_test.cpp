// Strings with equal std::hash: the author of a file or a request can make any number, and tables
// must stay fast.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/base/processor_time.h"
#include "text/template/json_values.h"
#include "text/tokenizer/string_index.h"

namespace tenon {
namespace {

// MurmurHash64A as in libstdc++, stepwise and inverted.
constexpr uint64_t kFactor = 0xC6A4A7935BD1E995u;

uint64_t inverse_of_factor() {
  uint64_t inverse = kFactor;
  for (int i = 0; i < 6; ++i) inverse *= 2 - kFactor * inverse;  // Newton
  return inverse;
}

uint64_t mixed(uint64_t value) { return value ^ value >> 47; }  // its own inverse

/// Pairs of printable blocks that lead from `state` to the state 0.
std::vector<std::string> halves(uint64_t state, size_t count, std::mt19937_64& random) {
  const uint64_t inverse = inverse_of_factor();
  std::vector<std::string> out;
  while (out.size() < count) {
    std::string text(16, ' ');
    for (size_t i = 0; i < 8; ++i) text[i] = static_cast<char>('0' + random() % 42);
    uint64_t first;
    std::memcpy(&first, text.data(), 8);
    const uint64_t between = (state ^ mixed(first * kFactor) * kFactor) * kFactor;
    const uint64_t second = mixed(between * inverse) * inverse;  // makes the state 0
    std::memcpy(text.data() + 8, &second, 8);
    bool printable = true;
    for (const char c : text) printable = printable && c > ' ' && c < 127 && c != '"' && c != '\\';
    if (printable) out.push_back(text);
  }
  return out;
}

/// Strings of 32 letters, digits and signs with equal std::hash.
std::vector<std::string> equal_hashes() {
  std::mt19937_64 random(3);
  const std::vector<std::string> lefts = halves(0xC70F6907u ^ 32 * kFactor, 200, random);
  const std::vector<std::string> rights = halves(0, 200, random);
  std::vector<std::string> out;
  for (const std::string& left : lefts) {
    for (const std::string& right : rights) out.push_back(left + right);
  }
  return out;
}

class EqualHashes : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto hash = std::hash<std::string>{};
    if (hash(strings_[0]) != hash(strings_[1])) GTEST_SKIP() << "another std::hash";
  }
  const std::vector<std::string> strings_ = equal_hashes();
};

TEST_F(EqualHashes, AreFoundInAnIndex) {
  const double seconds = processor_seconds([&] {
    StringIndex index(strings_.size());
    for (uint32_t i = 0; i < strings_.size(); ++i) ASSERT_FALSE(index.insert(strings_, i));
    for (uint32_t i = 0; i < strings_.size(); ++i) ASSERT_EQ(index.find(strings_, strings_[i]), i);
  });
  EXPECT_LT(seconds, 1.0);
}

TEST_F(EqualHashes, AreKeysOfADictInATemplate) {
  std::string json = "{";
  for (const std::string& key : strings_) json += (json.size() > 1 ? ",\"" : "\"") + key + "\":1";
  json += "}";
  const double seconds = processor_seconds([&] {
    const jinja::Value dict = jinja::value_from_json(json, "test");
    ASSERT_EQ(dict.entries().entries.size(), strings_.size());
  });
  EXPECT_LT(seconds, 1.0);
}

}  // namespace
}  // namespace tenon
