// Synthetic vocabularies: distinct tokens, a merge per word, refused sizes.
#include "random_model/random_vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/base/expect_error.h"

namespace tenon {
namespace {

using testing::HasSubstr;

TEST(RandomVocabulary, HoldsDistinctTokensAndTheirMerges) {
  const RandomVocabulary vocabulary = make_random_vocabulary(20000);
  ASSERT_EQ(vocabulary.tokens.size(), 20000u);
  EXPECT_EQ(vocabulary.types.size(), 20000u);
  EXPECT_EQ(vocabulary.merges.size(), 20000u - 258);
  EXPECT_EQ(std::set(vocabulary.tokens.begin(), vocabulary.tokens.end()).size(), 20000u);
  EXPECT_EQ(make_random_vocabulary(258).merges.size(), 0u);
  expect_error(Code::Argument, HasSubstr("not in 258"), [] { (void)make_random_vocabulary(257); });
  expect_error(Code::Argument, HasSubstr("1000000"), [] { (void)make_random_vocabulary(1000000); });
}

}  // namespace
}  // namespace tenon
