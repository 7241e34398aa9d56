// General categories by name, exact and loose.
#include "text/unicode/general_category.h"

#include <gtest/gtest.h>

#include <bit>

namespace tenon {
namespace {

TEST(GeneralCategory, HasShortAndLongNames) {
  EXPECT_EQ(categories_named("Lu"), category_bit('A'));
  EXPECT_EQ(categories_named("Uppercase_Letter"), category_bit('A'));
  EXPECT_EQ(categories_named("Zs"), category_bit(' '));
  EXPECT_EQ(categories_named("digit"), category_bit('7'));
  EXPECT_EQ(categories_named("cntrl"), categories_named("Cc"));
}

TEST(GeneralCategory, GroupsAreTheUnionOfTheirs) {
  CategoryMask all = 0;
  for (const char* group : {"L", "M", "N", "P", "S", "Z", "C"}) {
    EXPECT_EQ(all & categories_named(group), 0u) << group;
    all |= categories_named(group);
  }
  EXPECT_EQ(all, kAllCategories);
  EXPECT_EQ(std::popcount(categories_named("Letter")), 5);
  EXPECT_EQ(std::popcount(categories_named("LC")), 3);
}

TEST(GeneralCategory, OnlyLooseNamesDisregardCase) {
  for (const char* name : {"lu", "uppercase letter", "Uppercase-Letter", "UPPERCASELETTER"}) {
    EXPECT_EQ(categories_named(name), 0u) << name;
    EXPECT_EQ(categories_named_loosely(name), category_bit('A')) << name;
  }
  for (const char* name : {"", "Lx", "Han", "space"}) {
    EXPECT_EQ(categories_named(name), 0u) << name;
    EXPECT_EQ(categories_named_loosely(name), 0u) << name;
  }
}

}  // namespace
}  // namespace tenon
