// Grammars of all notations: accepted texts, and refusals with their place.
#include "text/grammar/grammar.h"

#include <gtest/gtest.h>

#include "tests/base/expect_error.h"
#include "tests/text/grammar/refusal.h"
#include "text/grammar/schema.h"

namespace tenon {
namespace {

std::shared_ptr<const Grammar> gbnf(std::string_view text) {
  return Grammar::compile(GrammarKind::Gbnf, text);
}
std::shared_ptr<const Grammar> regex(std::string_view text) {
  return Grammar::compile(GrammarKind::Regex, text);
}
std::shared_ptr<const Grammar> schema(std::string_view text) {
  return Grammar::compile(GrammarKind::JsonSchema, text);
}

void expect_refused(GrammarKind kind, std::string_view text, std::string_view part) {
  EXPECT_NE(refusal(kind, text).find(part), std::string::npos) << text.substr(0, 80) << "\n"
                                                               << refusal(kind, text);
}

TEST(Gbnf, MatchesWholeTexts) {
  const auto list = gbnf("root ::= (\"- \" item)+ # a list\nitem ::= [^\\n]{1,5} \"\\n\"\n");
  EXPECT_TRUE(list->accepts("- one\n- two\n"));
  EXPECT_FALSE(list->accepts(""));
  EXPECT_FALSE(list->accepts("- one"));
  EXPECT_FALSE(list->accepts("- longer\n"));
  EXPECT_TRUE(list->accepts("- \u3042\u3042\u3042\u3042\u3042\n"));
  EXPECT_FALSE(list->accepts("- \xE3\x81\n"));
}

TEST(Gbnf, RecursesAndIsAmbiguous) {
  const auto nested = gbnf("root ::= \"(\" root \")\" | \"x\"");
  EXPECT_TRUE(nested->accepts("((((x))))"));
  EXPECT_FALSE(nested->accepts("((x)"));
  EXPECT_TRUE(nested->accepts(std::string(20000, '(') + "x" + std::string(20000, ')')));
  const auto sum = gbnf("root ::= t (\"+\" t)*\nt ::= [0-9]+ | \"(\" root \")\" | [0-9]* \"y\"");
  EXPECT_TRUE(sum->accepts("1+(2+33)+4y"));
  EXPECT_FALSE(sum->accepts("1+(2+33"));
}

TEST(Gbnf, RefusesWithTheLine) {
  const auto kind = GrammarKind::Gbnf;
  expect_refused(kind, "", "root");
  expect_refused(kind, "root ::= a\n", "line 1: unknown rule \"a\"");
  expect_refused(kind, "root ::= \"a\"\n\nb ::= c", "line 3: unknown rule \"c\"");
  expect_refused(kind, "root ::= \"a\" | root \"b\"", "line 1: left recursion");
  expect_refused(kind, "root ::= a\na ::= b? a \"x\"\nb ::= \"b\"", "line 2: left recursion");
  expect_refused(kind, "root ::= a\na ::= \"x\" a", "no token can follow");
  expect_refused(kind, "root ::= (((\"a\"){1,1999}){1,1999}){1,1999}", "line 1");
  expect_refused(kind, "root ::= " + std::string(60000, '('), "nested deeper");
  expect_refused(kind, "root ::= \"a", "line 1: a string is not closed");
  expect_refused(kind, "root ::= <think>", "tokens");
  expect_refused(kind, "root ::= \"a\"\nroot ::= \"b\"", "line 2: rule \"root\" is defined again");
  expect_refused(kind, "root ::= \"a\"\n" + std::string(257, 'a') + " ::= \"b\"",
                 "line 2: the name of a rule is longer than 256 bytes");
  std::string many = "root ::= \"a\"\n";
  for (int i = 0; i < 30000; ++i) many += "r" + std::to_string(i) + " ::= \"a\"\n";
  expect_refused(kind, many, "more than 20000 rules");
}

TEST(Gbnf, KnowsWhatMayBeEmpty) {
  const auto kind = GrammarKind::Gbnf;
  // Unbounded repetitions of a possibly empty part, such as "ws*", where ws itself repeats.
  for (const char* of : {"([x]* )*", "([x]* )+", "(\"x\"? | \"\"){2,}", "ws*\nws ::= [x]*",
                         "ws+ end\nws ::= [x]?\nend ::= \"\"", "(a b)*\na ::= b?\nb ::= \"x\"?",
                         "((ws*)+)*\nws ::= [x]*"}) {
    const auto grammar = gbnf(std::string("root ::= ") + of);
    for (const char* text : {"", "x", "xx", "xxxxxxxxx"}) EXPECT_TRUE(grammar->accepts(text)) << of;
    EXPECT_FALSE(grammar->accepts("xy")) << of;
  }
  const auto spaced = gbnf("root ::= \"[\" ws* \"1\" ws* \"]\"\nws ::= [ \\t\\n]*");
  EXPECT_TRUE(spaced->accepts("[1]"));
  EXPECT_TRUE(spaced->accepts("[ \n\t1  ]"));
  EXPECT_FALSE(spaced->accepts("[ \n\t1 1 ]"));
  EXPECT_TRUE(gbnf("root ::= (a b)*\na ::= b?\nb ::= \"b\" | b2\nb2 ::= \"c\"")->accepts("bbc"));
  // Left recursion after a part that only a later rule makes nullable.
  expect_refused(kind,
                 "root ::= a\na ::= b c a \"x\" | \"y\"\nb ::= c\nc ::= d | \"c\"\nd ::= \"\"",
                 "line 2: left recursion");
}

TEST(RegexGrammar, MatchesTheWholeText) {
  EXPECT_TRUE(regex("(a+)+b")->accepts("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"));
  EXPECT_FALSE(regex("(a+)+b")->accepts(std::string(5000, 'a')));
  EXPECT_TRUE(regex("^\\d{3}-\\d{2}$")->accepts("123-45"));
  EXPECT_FALSE(regex("\\d{3}-\\d{2}")->accepts("x123-45"));
  EXPECT_TRUE(regex("(?i)straSSe|\\p{Lu}\\p{Ll}*")->accepts("STRASSE"));
  EXPECT_TRUE(regex("\\p{Lu}\\p{Ll}*")->accepts("\u00C9t\u00E9"));
  EXPECT_FALSE(regex("\\p{Lu}\\p{Ll}*")->accepts("\u00E9t\u00E9"));
  EXPECT_TRUE(regex("[^a]")->accepts("\U0001F600"));
  EXPECT_TRUE(regex("")->accepts(""));
}

TEST(RegexGrammar, RefusesWhatIsNotRegular) {
  const auto kind = GrammarKind::Regex;
  expect_refused(kind, "(a", "not closed");
  expect_refused(kind, "a)", ") without a (");
  expect_refused(kind, "[b-a]", "backwards");
  expect_refused(kind, "a?*", "repetition is repeated");
  expect_refused(kind, "*a", "nothing to repeat");
  expect_refused(kind, "a(?=b)", "lookaround");
  expect_refused(kind, "(?=a)*b", "nothing to repeat");
  expect_refused(kind, "(?=a)b|c", "alternatives");
  expect_refused(kind, "(a)\\1", "back references");
  expect_refused(kind, "((a{1,1999}){1,1999}){1,1999}", "nodes");
  expect_refused(kind, "(a|b)*a(a|b){30}", "");
  expect_refused(kind, std::string(60000, '('), "nested deeper");
  expect_refused(kind, "\\p{Nothing}", "unknown property");
}

TEST(Choices, AreExact) {
  const auto colours = Grammar::compile(GrammarKind::Choices, R"(["red","green","reddish"])");
  EXPECT_TRUE(colours->accepts("red"));
  EXPECT_TRUE(colours->accepts("reddish"));
  EXPECT_FALSE(colours->accepts("redd"));
  expect_refused(GrammarKind::Choices, "[]", "no token can follow");
  expect_refused(GrammarKind::Choices, "[1]", "no string");
}

TEST(SchemaGrammar, TakesPropertiesInAnyOrderOnce) {
  const auto person = schema(R"({"type":"object","properties":{"name":{"type":"string"},
    "age":{"type":"integer","minimum":0}},"required":["name","age"],"additionalProperties":false})");
  EXPECT_TRUE(person->accepts(R"({"name":"x","age":3})"));
  EXPECT_TRUE(person->accepts(" {\n \"age\" : 0.0 , \"n\\u0061me\":\"\\ud83d\\ude00\"}\n"));
  EXPECT_FALSE(person->accepts(R"({"name":"x"})"));
  EXPECT_FALSE(person->accepts(R"({"name":"x","age":-1})"));
  EXPECT_FALSE(person->accepts(R"({"name":"x","age":3,"name":"y"})"));
  EXPECT_FALSE(person->accepts(R"({"name":"x","age":3,"more":1})"));
  EXPECT_FALSE(person->accepts(R"({"name":"x","age":3,})"));
}

TEST(SchemaGrammar, LeavesOutWhatNeedsWhatCannotBeThere) {
  const std::string open = R"({"type":"object","properties":{"a":{},"b":{},"c":{}},
      "dependentRequired":{"a":["b"],"b":["z"]},"additionalProperties":false)";
  const auto object = schema(open + "}");
  EXPECT_TRUE(object->accepts("{}"));
  EXPECT_TRUE(object->accepts(R"({"c":1})"));
  EXPECT_FALSE(object->accepts(R"({"b":1})"));
  EXPECT_FALSE(object->accepts(R"({"a":1,"b":2,"c":3})"));
  EXPECT_THROW((void)schema(open + R"(,"required":["a"]})"), Error);
  EXPECT_THROW((void)schema(open + R"(,"minProperties":2})"), Error);
}

TEST(SchemaGrammar, AcceptsValuesHoweverTheyAreWritten) {
  const auto number = schema(R"({"type":"number","minimum":0.5,"exclusiveMaximum":1500,
      "multipleOf":0.25})");
  for (const char* text :
       {"1e3", "5e-1", "0.05E+1", "1.25e2", "1499750e-3", "100e0", "1.49975e+003"}) {
    EXPECT_TRUE(number->accepts(text)) << text;
  }
  for (const char* text : {"1e4", "1.5e3", "4e-1", "51e-2", "-1e1", "1e", "1e+", "01e2", "1.e2",
                           ".5e1", "1e2e3", "1e9999999999", "--1e1", "1e-99999"}) {
    EXPECT_FALSE(number->accepts(text)) << text;
  }
  const auto whole = schema(R"({"type":"integer","minimum":-20})");
  for (const char* text :
       {"1.5e1", "150e-1", "-2e1", "0e-5", "1e308", "12e0", "1.50e+2", "5.000", "-0.0"}) {
    EXPECT_TRUE(whole->accepts(text)) << text;
  }
  for (const char* text : {"1.5e0", "15e-1", "-3e1", "1e-1", "5.", "5.001", "05.0"}) {
    EXPECT_FALSE(whole->accepts(text)) << text;
  }
  const auto list = schema(R"({"type":"array","items":{"enum":["a/\"b",10]}})");
  for (const char* text :
       {" [ \"a/\\\"b\"\t,\r\n10 ]\n", R"(["\u0061\/\u0022b",1e1])", "[100e-1]", "[ ]"}) {
    EXPECT_TRUE(list->accepts(text)) << text;
  }
  for (const char* text :
       {"[10 10]", "[1 0]", "[10,]", "10", "[10] 10", R"(["a/b"])", "[10\v]", ""}) {
    EXPECT_FALSE(list->accepts(text)) << text;
  }
  const auto any = schema("{}");
  for (const char* text :
       {R"("\ud83d\ude00")", R"("\\u0041")", R"({"a" : [ true , null ] })", "-0.0e-0"}) {
    EXPECT_TRUE(any->accepts(text)) << text;
  }
  for (const char* text :
       {R"("\ud83d")", R"("\ude00\ud83d")", R"("\x41")", R"("\u00g0")", "\"a", "\"a\\", "tr ue",
        "{\"a\" \"b\"}", "\"\n\"", "nul", "[1 2]", "\"\\u12"}) {
    EXPECT_FALSE(any->accepts(text)) << text;
  }
}

TEST(SchemaGrammar, CountsItemsAndCharacters) {
  const auto list = schema(
      R"({"type":"array","items":{"type":"string","minLength":1,"maxLength":3},
          "minItems":2,"maxItems":3})");
  EXPECT_TRUE(list->accepts(R"(["a","bcd"])"));
  EXPECT_TRUE(list->accepts("[\"\u3042\\u3042\\n\",\"b\", \"c\"]"));
  EXPECT_FALSE(list->accepts(R"(["a"])"));
  EXPECT_FALSE(list->accepts(R"(["a","b","c","d"])"));
  EXPECT_FALSE(list->accepts(R"(["","b"])"));
  EXPECT_FALSE(list->accepts(R"(["abcd","b"])"));
}

TEST(SchemaGrammar, KnowsWhichOfFewItemsThereAre) {
  const auto few = schema(
      R"({"items":{"anyOf":[{"enum":["a","b",1,null]},{"type":"boolean"}]},"type":"array",
          "uniqueItems":true,"minItems":1})");
  EXPECT_TRUE(few->accepts(R"(["b",1,null,true,"a"])"));
  EXPECT_TRUE(few->accepts("[true,1]"));
  EXPECT_FALSE(few->accepts("[]"));
  EXPECT_FALSE(few->accepts("[1,1.0]"));
  EXPECT_FALSE(few->accepts(R"(["a","b","a"])"));
  EXPECT_FALSE(few->accepts(R"(["a","\u0061"])"));
  const auto digits = schema(
      R"({"items":{"type":"integer","minimum":-1,"maximum":10},"type":"array","uniqueItems":true,
          "maxItems":3})");
  EXPECT_TRUE(digits->accepts("[]"));
  EXPECT_TRUE(digits->accepts("[1,10,0]"));
  EXPECT_FALSE(digits->accepts("[0,-0.0]"));
  EXPECT_FALSE(digits->accepts("[1,2,3,4]"));
}

TEST(SchemaGrammar, CountsWhatIsContained) {
  // The array needs an element, but its rule has a shortest text all the same.
  const auto inside = schema(
      R"({"properties":{"k":{"type":"array","minItems":1,"maxItems":3,"contains":{"type":"null"},
          "minContains":2}}})");
  EXPECT_TRUE(inside->accepts(R"({"k":[null,1,null]})"));
  EXPECT_FALSE(inside->accepts(R"({"k":[1,null,1]})"));
  EXPECT_FALSE(inside->accepts(R"({"k":[null,1,1,null]})"));
}

TEST(SchemaGrammar, CountsANameOnce) {
  const auto two = schema(R"({"type":"object","minProperties":2})");
  EXPECT_FALSE(two->accepts(R"({"a":1,"a":2})"));
  EXPECT_FALSE(two->accepts(R"({"a":1,"\u0061":2})"));
  EXPECT_TRUE(two->accepts(R"({"a":{"a":"a"},"q":["a","a"]})"));
  EXPECT_TRUE(two->accepts(R"({"a":1,"a":2,"b":3})"));
  EXPECT_TRUE(two->accepts(R"({"ab":1,"ba":2})"));
  const auto named = schema(
      R"({"type":"object","properties":{"a":{},"b":{}},"required":["a"],"minProperties":3,
          "maxProperties":3})");
  EXPECT_TRUE(named->accepts(R"({"b":1,"c":2,"a":3})"));
  EXPECT_FALSE(named->accepts(R"({"c":1,"c":2,"a":3})"));
  const auto few =
      schema(R"({"type":"object","propertyNames":{"enum":["ab","ba"]},"minProperties":2})");
  EXPECT_TRUE(few->accepts(R"({"ba":1,"ab":2})"));
  EXPECT_FALSE(few->accepts(R"({"ab":1,"ab":2})"));
  expect_refused(GrammarKind::JsonSchema,
                 R"({"type":"object","minProperties":20,"propertyNames":{"pattern":"^x+$"}})",
                 "told apart");
}

TEST(SchemaGrammar, ReadsWhatOlderDraftsSay) {
  const auto pair = schema(
      R"({"type":"array","items":[{"type":"integer"},{"type":"string"}],"additionalItems":false})");
  EXPECT_TRUE(pair->accepts(R"([1,"a"])"));
  EXPECT_FALSE(pair->accepts(R"(["a"])"));
  EXPECT_FALSE(pair->accepts(R"([1,"a",2])"));
  const auto needs = schema(R"({"dependencies":{"a":["b"],"c":{"required":["d"]}}})");
  EXPECT_TRUE(needs->accepts(R"({"a":1,"b":2})"));
  EXPECT_FALSE(needs->accepts(R"({"a":1})"));
  EXPECT_FALSE(needs->accepts(R"({"c":1})"));
}

TEST(SchemaGrammar, LooksAheadAtTheBeginning) {
  // Pattern that pydantic writes for decimal numbers.
  const auto decimal = schema(R"({"type":"string","pattern":"^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$"})");
  EXPECT_TRUE(decimal->accepts(R"("-.5")"));
  EXPECT_FALSE(decimal->accepts(R"("+")"));
  const auto password =
      schema(R"({"type":"string","pattern":"^(?=.*[A-Z])(?=.*\\d)[A-Za-z\\d]{4,}$"})");
  EXPECT_TRUE(password->accepts(R"("abC1")"));
  EXPECT_FALSE(password->accepts(R"("abc1")"));
  EXPECT_FALSE(password->accepts(R"("aC1")"));
  const auto word = regex("(?!cat)[a-z]{3,4}");
  EXPECT_TRUE(word->accepts("cab"));
  EXPECT_FALSE(word->accepts("cats"));
}

TEST(SchemaGrammar, RefusesWithThePointer) {
  const auto kind = GrammarKind::JsonSchema;
  expect_refused(kind, "{", "not JSON");
  expect_refused(kind, "[]", "a schema is an object");
  expect_refused(kind, R"({"properties":{"a":{"type":"zzz"}}})", "#/properties/a/type");
  expect_refused(kind, R"({"$ref":"#"})", "refers to itself");
  expect_refused(kind, R"({"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},
    "$ref":"#/$defs/a"})",
                 "refers to itself");
  expect_refused(kind, R"({"$ref":"#/$defs/none"})", "names nothing");
  expect_refused(kind, R"({"$ref":"http://example.com/x"})", "out of the document");
  expect_refused(kind, R"({"type":"string","minLength":1000000000000000000})", "#/minLength");
  expect_refused(kind, R"({"type":"integer","minimum":3,"maximum":2})", "contradictory");
  expect_refused(kind, R"({"items":{"pattern":"(a"}})", "#/items/pattern");
  expect_refused(kind, R"({"type":"array","uniqueItems":true})", "uniqueItems");
  expect_refused(kind, R"({"items":{"type":"boolean"},"type":"array","uniqueItems":true,
    "minItems":3})",
                 "contradictory");
  expect_refused(kind, R"({"items":{"minimum":1e400}})", "beyond the range of a double");
  expect_refused(kind, "false", "contradictory");
  std::string values = "{\"enum\":[0";
  for (int i = 1; i < 100000; ++i) values += "," + std::to_string(i);
  expect_refused(kind, values + "]}", "enum");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "{\"items\":";
  expect_refused(kind, deep, "nested deeper");
}

TEST(GrammarCache, MakesAnAutomatonOnceAndSharesItWithNoOtherCache) {
  constexpr const char* kPlain = R"({"format": "email"})";
  constexpr const char* kNested = R"({"items": {"format": "email", "pattern": "^a"}})";
  GrammarCache cache(1 << 20), other(1 << 20);
  (void)cache.compile(GrammarKind::JsonSchema, kPlain);
  const size_t first = cache.parts().num_dfas_made();
  EXPECT_GT(first, 0u);
  (void)cache.compile(GrammarKind::JsonSchema, kNested);
  EXPECT_EQ(cache.parts().num_dfas_made(), first + 1) << "the pattern";
  EXPECT_GT(cache.parts().size_bytes(), 0u);
  EXPECT_EQ(other.parts().num_dfas_made(), 0u);
  (void)other.compile(GrammarKind::JsonSchema, kPlain);
  EXPECT_EQ(other.parts().num_dfas_made(), first) << "caches share nothing";
}

// Limits apply per unit: the work of other units does not count.
TEST(Budget, HasItsLimitsForEachUnit) {
  grammar::Budget budget;
  for (int unit = 0; unit < 15; ++unit) {
    (void)budget.begin_unit("tool: ");
    budget.spend(grammar::Budget::kMaxWork);
    budget.add_parts(grammar::Budget::kMaxParts);
    budget.add_nodes(grammar::Budget::kMaxNodes);
    budget.add_states(grammar::Budget::kMaxStates);
  }
  EXPECT_THROW(budget.spend(1), Error);
  EXPECT_THROW(budget.add_parts(1), Error);
  EXPECT_THROW(budget.add_nodes(1), Error);
  EXPECT_THROW(budget.add_states(1), Error);
  budget.hold_states(grammar::Budget::kMaxHeldStates);
  EXPECT_THROW(budget.hold_states(1), Error) << "memory is bounded for all together";
  (void)budget.begin_unit("tool: ");
  budget.add_states(1);
  budget.spend(grammar::Budget::kMaxWork);
  (void)budget.begin_unit("tool: ");
  try {
    budget.spend(1);
    ADD_FAILURE() << "work is bounded for all together";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::Limit);
  }
}

// A cached part is charged with its original cost, to the unit that uses it.
TEST(KeptParts, ChargeTheBudgetAsMakingThemDid) {
  constexpr std::string_view kText = R"({"items": {"format": "email", "maxLength": 100}})";
  grammar::KeptParts parts;
  std::vector<grammar::BudgetUse> uses;
  for (int i = 0; i < 3; ++i) {
    grammar::KeptParts fresh;
    grammar::Budget budget;
    grammar::Nfa nfa(budget);
    (void)grammar::add_schema(kText, nfa, i == 2 ? fresh : parts);
    uses.push_back(budget.used());
  }
  EXPECT_EQ(parts.num_schemas_made(), 1u);
  for (const grammar::BudgetUse& use : uses) {
    EXPECT_GT(use.work, 1000u);
    EXPECT_EQ(use.work, uses[0].work);
    EXPECT_EQ(use.nodes, uses[0].nodes);
    EXPECT_EQ(use.states, uses[0].states);
    EXPECT_EQ(use.parts, uses[0].parts);
  }
}

// A part stays usable by its users after the cache has evicted it.
TEST(KeptParts, PartsOutliveTheirCache) {
  auto parts = std::make_unique<grammar::KeptParts>();
  const auto compiled = Grammar::compile(
      GrammarKind::JsonSchema, R"({"items": {"format": "date"}, "type": "array"})", *parts);
  parts.reset();
  EXPECT_TRUE(compiled->accepts(R"(["2020-01-02"])"));
  EXPECT_FALSE(compiled->accepts(R"(["2020-01-0"])"));
}

TEST(KeptByText, KeepsWhatWasUsedLastWithinItsBytes) {
  grammar::KeptByText<int> kept(1000);
  const auto add = [&](const std::string& text, int value, size_t bytes) {
    return *kept.add(text, std::make_shared<const int>(value), bytes);
  };
  EXPECT_EQ(kept.find("a"), nullptr);
  EXPECT_EQ(add("a", 1, 10), 1);
  EXPECT_EQ(add("a", 2, 10), 1) << "the first one stays";
  EXPECT_EQ(kept.num_added(), 1u);
  EXPECT_EQ(add("large", 3, 1000), 3);
  EXPECT_EQ(kept.find("large"), nullptr);
  for (int i = 0; i < 100; ++i) {
    (void)add("b" + std::to_string(i), i, 10);
    ASSERT_NE(kept.find("a"), nullptr) << "used each time";
    ASSERT_LE(kept.size_bytes(), 1000u);
  }
  EXPECT_EQ(kept.find("b0"), nullptr);
  EXPECT_EQ(*kept.find("b99"), 99);
}

TEST(GrammarCache, KeepsWhatWasUsedLast) {
  const size_t one = schema("{\"type\":\"null\"}")->size_bytes();
  GrammarCache cache(one * 3);
  const auto first = cache.compile(GrammarKind::Regex, "a");
  EXPECT_EQ(cache.compile(GrammarKind::Regex, "a"), first);
  EXPECT_NE(cache.compile(GrammarKind::Gbnf, "root ::= \"a\""), first);
  for (int i = 0; i < 20; ++i) (void)cache.compile(GrammarKind::Regex, std::to_string(i));
  EXPECT_LE(cache.size_bytes(), one * 3);
  EXPECT_THROW((void)cache.compile(GrammarKind::Regex, "("), Error);
}

}  // namespace
}  // namespace tenon
