#include "text/tokenizer/string_list.h"

#include <gtest/gtest.h>

#include "text/tokenizer/string_index.h"

namespace tenon {
namespace {

TEST(StringList, KeepsEachStringAsItWas) {
  const std::vector<std::string> texts = {"", "a", std::string("\0x", 2), "",
                                          std::string(300, 'y')};
  const StringList list(texts);
  ASSERT_EQ(list.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(list[i], texts[i]) << i;
  EXPECT_EQ(list.num_bytes(), 303u);
  EXPECT_TRUE(StringList().empty());
}

TEST(StringList, IsFoundInByAnIndex) {
  const StringList list(std::vector<std::string>{"left", "right", "", "left"});
  StringIndex index(list.size());
  EXPECT_EQ(index.insert(list, 0), std::nullopt);
  EXPECT_EQ(index.insert(list, 1), std::nullopt);
  EXPECT_EQ(index.insert(list, 3), 0u);
  EXPECT_EQ(index.find(list, "right"), 1u);
  EXPECT_EQ(index.find(list, "righ"), std::nullopt);
}

}  // namespace
}  // namespace tenon
