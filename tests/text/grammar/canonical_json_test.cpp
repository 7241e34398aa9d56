#include "text/grammar/canonical_json.h"

#include <gtest/gtest.h>

#include <string>

namespace tenon::grammar {
namespace {

std::string canonical(std::string_view text) {
  std::string out;
  EXPECT_TRUE(canonical_json(text, [&](std::string_view piece) {
    out += piece;
    return true;
  }));
  return out;
}

TEST(CanonicalJson, DropsWhiteSpaceEscapesExponentsAndZeros) {
  EXPECT_EQ(canonical(R"( { "a" : [1e2, "\u0041\/"] } )"), R"({"a":[100,"A/"]})");
  EXPECT_EQ(canonical(R"("\ud83d\ude00\n\u0001\ud83d")"), "\"\U0001F600\\n\\u0001\\ud83d\"");
  EXPECT_EQ(canonical("[-1.50e-1,12E0,0.5e1]"), "[-0.150,12,5]");
  EXPECT_EQ(canonical("[1.00,-0.0,1.50e1,10.0,0.0e3]"), "[1,-0,15,10,0]");
  EXPECT_EQ(canonical("[1.,1.0.0,1.10]"), "[1.,1.0.0,1.10]");
}

TEST(CanonicalJson, LeavesWhatIsNoJsonToTheGrammar) {
  EXPECT_EQ(canonical("1 2"), "1 2");
  EXPECT_EQ(canonical("\"open"), "\"open");
  EXPECT_EQ(canonical("1e99999"), "1e99999");
}

TEST(CanonicalJson, EndsWhereTheSinkSaysSo) {
  int pieces = 0;
  EXPECT_FALSE(canonical_json("[1,2]", [&](std::string_view) { return ++pieces < 2; }));
  EXPECT_EQ(pieces, 2);
}

TEST(CanonicalJson, KnowsNamesThatRepeat) {
  EXPECT_TRUE(repeats_a_name(R"({"a":1,"\u0061":2})"));
  EXPECT_FALSE(repeats_a_name(R"([{"a":1},{"a":{"a":2}}])"));
}

}  // namespace
}  // namespace tenon::grammar
