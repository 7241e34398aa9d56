// Trees of JSON texts: values, limits, errors that name the place.
#include "json/json_tree.h"

#include "tests/base/expect_error.h"

namespace tenon {
namespace {

using testing::HasSubstr;

TEST(JsonTree, KeepsValuesOfEveryKind) {
  const JsonNode root = parse_json_tree(
      R"({"n":null,"t":true,"u":18446744073709551615,"i":-3,"d":1.5,"s":"\u00e4","a":[1,[2]],"o":{"k":"v"}})",
      "x.json");
  ASSERT_TRUE(root.is(JsonNode::Kind::Object));
  EXPECT_TRUE(root.find("n")->is(JsonNode::Kind::Null));
  EXPECT_TRUE(root.find("t")->flag);
  EXPECT_TRUE(root.find("u")->is_count);
  EXPECT_EQ(root.find("u")->count, ~uint64_t{0});
  EXPECT_FALSE(root.find("i")->is_count);
  EXPECT_EQ(root.find("i")->number, -3);
  EXPECT_FALSE(root.find("d")->is_count);
  EXPECT_EQ(root.find("d")->number, 1.5);
  EXPECT_EQ(root.text_of("s"), "\xc3\xa4");
  EXPECT_EQ(root.find("a")->items[1].items[0].count, 2u);
  EXPECT_EQ(root.find("o")->text_of("k"), "v");
  EXPECT_EQ(root.find("absent"), nullptr);
  EXPECT_EQ(root.text_of("u"), "");
  EXPECT_TRUE(parse_json_tree("7", "x.json").is_count);
}

TEST(JsonTree, RefusesWhatIsNoJsonAndNamesTheByte) {
  for (const char* text : {"", "{", "{\"a\":}", "[1,]", "{\"a\":1}x", "\"\xff\"", "nul", "01"}) {
    expect_error(Code::Format, HasSubstr("x.json: not JSON at byte"),
                 [&] { parse_json_tree(text, "x.json"); });
  }
  expect_error(Code::Format, HasSubstr("beyond the range"),
               [] { parse_json_tree("1e999", "x.json"); });
}

TEST(JsonTree, RefusesAKeyThatIsThereTwice) {
  expect_error(Code::Format, HasSubstr("has the key \"b\" twice"),
               [] { parse_json_tree(R"({"a":{"b":1,"c":2,"b":3}})", "x.json"); });
}

TEST(JsonTree, KeepsItsLimits) {
  const std::string deep = std::string(33, '[') + std::string(33, ']');
  expect_error(Code::Limit, HasSubstr("nested deeper than 32"),
               [&] { parse_json_tree(deep, "x.json"); });
  EXPECT_NO_THROW(parse_json_tree(deep.substr(1, 64), "x.json"));
  expect_error(Code::Limit, HasSubstr("nested deeper than 32"),
               [] { parse_json_tree(std::string(200'000, '['), "x.json"); });
  expect_error(Code::Limit, HasSubstr("more than 3 values"),
               [] { parse_json_tree("[1,2,3]", "x.json", {.max_values = 3}); });
  EXPECT_NO_THROW(parse_json_tree("[1,2]", "x.json", {.max_values = 3}));
  expect_error(Code::Limit, HasSubstr("8 bytes, the limit is 7"),
               [] { parse_json_tree("[1,2,34]", "x.json", {.max_bytes = 7}); });
}

TEST(JsonTree, HandsOverOneMemberAtATime) {
  std::string seen;
  const auto take = [&](const std::string& key, const JsonNode& value) {
    seen += key + ":" + std::to_string(value.items.size()) + std::to_string(value.count) + " ";
  };
  // Limits hold for each member, not for all of them.
  for_each_json_member(R"({"a":[1,2],"b":7,"a":{},"c":{"x":{"y":[]}}})", "x.json",
                       {.max_values = 3}, take);
  EXPECT_EQ(seen, "a:20 b:07 a:00 c:10 ");
  seen.clear();
  for_each_json_member("{}", "x.json", {}, take);
  EXPECT_EQ(seen, "");
  for (const char* text : {"[]", "1", "null", "\"a\""}) {
    expect_error(Code::Format, HasSubstr("is no JSON object"),
                 [&] { for_each_json_member(text, "x.json", {}, take); });
  }
}

}  // namespace
}  // namespace tenon
