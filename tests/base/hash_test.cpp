#include "base/hash.h"

#include <gtest/gtest.h>

#include <string>

namespace tenon {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(Hash, KnownValue) {
  // XXH3 128 of nothing, from the algorithm's specification.
  EXPECT_EQ(hash_bytes({}).hex(), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash, PiecesGiveTheSameHash) {
  const std::string text(5000, 'q');
  Hasher hasher(7);
  hasher.add(bytes_of(text).first(1));
  hasher.add(bytes_of(text).subspan(1, 3000));
  hasher.add({});
  hasher.add(bytes_of(text).subspan(3001));
  EXPECT_EQ(hasher.value(), hash_bytes(bytes_of(text), 7));
}

TEST(Hash, SeedAndEveryBitMatter) {
  std::string text = "some bytes";
  const Hash128 before = hash_bytes(bytes_of(text));
  EXPECT_NE(before, hash_bytes(bytes_of(text), 1));
  text[3] ^= 1;
  EXPECT_NE(before, hash_bytes(bytes_of(text)));
}

}  // namespace
}  // namespace tenon
