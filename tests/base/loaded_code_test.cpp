#include "base/loaded_code.h"

#include <gtest/gtest.h>

#include <clocale>

namespace tenon {
namespace {

TEST(LoadedCode, HasAFingerprint) {
  const Hash128 own = code_fingerprint(reinterpret_cast<const void*>(&own_code));
  EXPECT_NE(own, Hash128{});
  EXPECT_EQ(code_fingerprint(reinterpret_cast<const void*>(&own_code)), own);
  static const int constant = 7;
  EXPECT_EQ(code_fingerprint(&constant), own) << "constants of the same file";
  const Hash128 other = code_fingerprint(std::localeconv());  // a constant of the C library
  EXPECT_NE(other, own);
  EXPECT_NE(other, Hash128{});
  int on_the_stack = 0;
  EXPECT_EQ(code_fingerprint(&on_the_stack), Hash128{});
}

}  // namespace
}  // namespace tenon
