// JSON of requests: early refusals, and the values kept.
#include "server/json/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api_error.h"

namespace tenon_http {
namespace {

std::string json_refusal(const std::string& text) {
  try {
    (void)parse_json(text);
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status(), 400);
    return error.what();
  }
  return "";
}

std::string nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(ServerJson, RefusesWhatIsNoJson) {
  for (const char* text : {"", "{", "{\"a\":", "[1,]", "nul", "{\"a\" 1}", "\"\\ud80\"", "\"\xff\"",
                           "1e999", "{} {}", "[01]"}) {
    EXPECT_THAT(json_refusal(text), testing::HasSubstr("JSON")) << text;
  }
}

TEST(ServerJson, RefusesAZeroByteWhereverItStands) {
  const std::string text = R"({"a":[1,"s"]})";
  for (size_t at = 0; at <= text.size(); ++at) {
    std::string cut = text;
    cut.insert(at, 1, '\0');
    EXPECT_THAT(json_refusal(cut), testing::EndsWith("byte " + std::to_string(at + 1)));
  }
}

TEST(ServerJson, ReadsHalfSurrogatesAsReplacementCharacters) {
  const std::string replaced = "\xef\xbf\xbd";
  EXPECT_EQ(parse_json(R"("a\ud83d")"), "a" + replaced);
  EXPECT_EQ(parse_json(R"("\ud83dA")"), replaced + "A");
  EXPECT_EQ(parse_json(R"("\ude00\ud83d")"), replaced + replaced);
  EXPECT_EQ(parse_json(R"("\ud83d\ud83d\ude00")"), replaced + "\xf0\x9f\x98\x80");
  EXPECT_EQ(parse_json(R"("\\ud83d")"), "\\ud83d");
  EXPECT_EQ(parse_json(R"("\\\ud83d")"), "\\" + replaced);
  EXPECT_EQ(parse_json(R"({"\udfff": 1})"), Json({{replaced, 1}}));
}

TEST(ServerJson, TakesTheMembersThatAreWholeOfACutObject) {
  EXPECT_EQ(parse_cut_object(R"({"a": 1, "b": [2, {"c": "x)"),
            Json::parse(R"({"a": 1, "b": [2, {}]})"));
  EXPECT_EQ(parse_cut_object(R"({"a": "x"})"), Json({{"a", "x"}}));
  for (const char* none : {"", "[1", "{", "{\"a", "x"}) {
    EXPECT_EQ(parse_cut_object(none), Json::object()) << none;
  }
}

TEST(ServerJson, RefusesDeepNestingWithoutReadingIt) {
  EXPECT_EQ(json_refusal(nested(kMaxJsonDepth)), "");
  EXPECT_THAT(json_refusal(nested(kMaxJsonDepth + 1)), testing::HasSubstr("deeper"));
  EXPECT_THAT(json_refusal(std::string(1'000'000, '[')), testing::HasSubstr("deeper"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_THAT(json_refusal(objects), testing::HasSubstr("deeper"));
}

TEST(ServerJson, RefusesMoreValuesThanTheBound) {
  std::string list = "[0";
  for (size_t i = 0; i < kMaxJsonValues; ++i) list += ",0";
  EXPECT_THAT(json_refusal(list + "]"), testing::HasSubstr("values"));
}

TEST(ServerJson, KeepsTheOrderOfMembersAndTheFirstOfEqualNames) {
  const Json value = parse_json(R"({"z":1,"a":{"y":[1,2],"b":null},"z":3})");
  EXPECT_EQ(to_text(value["a"]), R"({"y":[1,2],"b":null})");
  EXPECT_EQ(value["z"], 1);
}

TEST(ServerJson, ReadsManyMembersInLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 300'000; ++i) text += "\"m" + std::to_string(i) + "\":1,";
  EXPECT_EQ(parse_json(text + "\"last\":1}").size(), 300'001u);
}

TEST(ServerJson, WritesIllFormedUtf8AsReplacementCharacters) {
  EXPECT_EQ(to_text(Json("a\xff")), "\"a\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace tenon_http
