// Linear time: sources of grammars and texts under them.
#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "handles.h"
#include "linear_time.h"

namespace {

using namespace tenon_test;

struct GrammarSource {
  const char* name;
  int32_t kind;
  size_t size;
  std::string (*make)(size_t);
};

TEST(LinearTime, SourcesOfGrammars) {
  constexpr int32_t kSchema = TENON_GRAMMAR_JSON_SCHEMA, kGbnf = TENON_GRAMMAR_GBNF,
                    kRegex = TENON_GRAMMAR_REGEX, kChoices = TENON_GRAMMAR_CHOICES;
  const std::vector<GrammarSource> sources{
      {"rules", kGbnf, 2'000,
       [](size_t n) { return "root ::= r1000000\n" + numbered("r# ::= \"a\"", n, "\n"); }},
      {"a chain of rules", kGbnf, 2'000,
       [](size_t n) {
         std::string out = "root ::= r0\n";
         for (size_t i = 0; i < n; ++i) {
           out += "r" + std::to_string(i) + " ::= \"a\" r" + std::to_string(i + 1) + "\n";
         }
         return out + "r" + std::to_string(n) + " ::= \"b\"\n";
       }},
      {"alternatives", kGbnf, 3'000,
       [](size_t n) { return "root ::= " + numbered("\"#\"", n, "|"); }},
      {"a literal", kGbnf, 10'000,
       [](size_t n) { return "root ::= \"" + repeated("a", n) + "\""; }},
      {"groups", kGbnf, 20'000, [](size_t n) { return "root ::= " + repeated("(", n); }},
      {"a class", kGbnf, 20'000, [](size_t n) { return "root ::= [" + repeated("ab", n) + "]"; }},
      {"optional parts", kGbnf, 1'000,
       [](size_t n) { return "root ::= " + repeated("\"a\"? ", n); }},
      {"a comment", kGbnf, 200'000,
       [](size_t n) { return "root ::= \"a\" #" + repeated("a", n) + "\n"; }},
      {"unknown rules", kGbnf, 5'000,
       [](size_t n) { return "root ::= " + numbered("r#", n, " "); }},
      {"enum", kSchema, 5'000,
       [](size_t n) { return R"({"enum": [)" + numbered("\"#\"", n) + "]}"; }},
      {"numbers in an enum", kSchema, 5'000,
       [](size_t n) { return R"({"enum": [)" + numbered("#", n) + "]}"; }},
      {"properties", kSchema, 2'000,
       [](size_t n) { return object(numbered(R"("p#": {"type": "integer"})", n)); }},
      {"required", kSchema, 1'000,
       [](size_t n) {
         return object(numbered(R"("p#": {"type": "integer"})", n),
                       R"(, "required": [)" + numbered(R"("p#")", n) + "]");
       }},
      {"closed objects", kSchema, 1'000,
       [](size_t n) {
         return object(numbered(R"("p#": {"type": "null"})", n),
                       R"(, "additionalProperties": false)");
       }},
      {"definitions", kSchema, 1'000,
       [](size_t n) {
         return R"({"$ref": "~/$defs/d1000000", "$defs": {)" +
                numbered(R"("d#": {"type": "array", "items": {"$ref": "~/$defs/d1000000"}})", n) +
                "}}";
       }},
      {"unused definitions", kSchema, 5'000,
       [](size_t n) {
         return R"({"type": "null", "$defs": {)" + numbered(R"("d#": {"type": "integer"})", n) +
                "}}";
       }},
      {"anchors", kSchema, 2'000,
       [](size_t n) {
         return R"({"$ref": "~a1000000", "$defs": {)" +
                numbered(R"("d#": {"$anchor": "a#", "type": "null"})", n) + "}}";
       }},
      {"allOf", kSchema, 1'000,
       [](size_t n) { return R"({"allOf": [)" + numbered(R"({"minLength": 1})", n) + "]}"; }},
      {"allOf of objects", kSchema, 500,
       [](size_t n) {
         return R"({"allOf": [)" + numbered(R"({"properties": {"p#": {"type": "null"}}})", n) +
                "]}";
       }},
      {"allOf beside properties", kSchema, 1'000,
       [](size_t n) {
         return object(numbered(R"("p#": {"type": "null"})", n),
                       R"(, "allOf": [)" + numbered(R"({"minProperties": 1})", n) + "]");
       }},
      {"a chain of dependentRequired", kSchema, 200,
       [](size_t n) {
         std::string out = R"({"dependentRequired": {"p0": ["p1"])";
         for (size_t i = 1; i < n; ++i) {
           out += ", \"p" + std::to_string(i) + "\": [\"p" + std::to_string(i + 1) + "\"]";
         }
         return out + "}}";
       }},
      {"anyOf", kSchema, 2'000,
       [](size_t n) { return R"({"anyOf": [)" + numbered(R"({"const": #})", n) + "]}"; }},
      {"oneOf", kSchema, 500,
       [](size_t n) { return R"({"oneOf": [)" + numbered(R"({"const": #})", n) + "]}"; }},
      {"prefixItems", kSchema, 1'000,
       [](size_t n) { return R"({"prefixItems": [)" + numbered(R"({"const": #})", n) + "]}"; }},
      {"dependentRequired", kSchema, 500,
       [](size_t n) {
         return R"({"dependentRequired": {)" + numbered(R"("p#": ["q#"])", n) + "}}";
       }},
      {"patternProperties", kSchema, 300,
       [](size_t n) { return R"({"patternProperties": {)" + numbered(R"("^p#": {})", n) + "}}"; }},
      {"nested", kSchema, 20'000, [](size_t n) { return repeated(R"({"items": )", n); }},
      {"a pattern", kSchema, 5'000,
       [](size_t n) { return R"({"type": "string", "pattern": ")" + repeated("ab?", n) + "\"}"; }},
      {"a constant", kSchema, 20'000,
       [](size_t n) { return R"({"const": ")" + repeated("a", n) + "\"}"; }},
      {"a description", kSchema, 300'000,
       [](size_t n) { return R"({"description": ")" + repeated("a", n) + "\"}"; }},
      {"unknown keywords", kSchema, 10'000,
       [](size_t n) { return "{" + numbered(R"("x#": 1)", n) + "}"; }},
      {"letters", kRegex, 10'000, [](size_t n) { return repeated("a", n); }},
      {"optional letters", kRegex, 500, [](size_t n) { return repeated("a?", n); }},
      {"stars", kRegex, 500, [](size_t n) { return repeated("a*", n); }},
      {"words", kRegex, 2'000, [](size_t n) { return numbered("#", n, "|"); }},
      {"classes", kRegex, 2'000, [](size_t n) { return repeated("[a-z]", n); }},
      {"one class", kRegex, 20'000, [](size_t n) { return "[" + repeated("ab", n) + "]"; }},
      {"groups of a pattern", kRegex, 20'000, [](size_t n) { return repeated("(", n); }},
      {"letters of Unicode", kRegex, 300, [](size_t n) { return repeated("\\p{L}", n); }},
      {"counted", kRegex, 100,
       [](size_t n) { return "(a{1," + std::to_string(n) + "}){1," + std::to_string(n) + "}"; }},
      {"choices", kChoices, 5'000, [](size_t n) { return "[" + numbered("\"#\"", n) + "]"; }},
      {"choices that begin alike", kChoices, 300,
       [](size_t n) { return "[" + numbered("\"" + repeated("a", 100) + "#\"", n) + "]"; }},
  };
  std::vector<Case> cases;
  for (const GrammarSource& source : sources) {
    cases.push_back(
        {source.name, source.size, [&](size_t n) {
           const std::string text = text_of(Text{source.name, source.size, source.make}, n);
           tenon_grammar* grammar = nullptr;
           expect_answer(tenon_grammar_create(source.kind, text.data(), text.size(), &grammar));
           tenon_grammar_destroy(grammar);
         }});
  }
  expect_linear(cases);
}

TEST(LinearTime, TextsUnderGrammars) {
  const auto accepts = [](int32_t kind, std::string_view source, const std::string& text) {
    tenon_grammar* made = nullptr;
    ASSERT_OK(tenon_grammar_create(kind, source.data(), source.size(), &made));
    const GrammarPtr grammar(made);
    int32_t accepted = 0;
    expect_answer(tenon_grammar_accepts(made, text.data(), text.size(), &accepted));
  };
  expect_linear({
      {"any JSON", 50'000,
       [&](size_t n) { accepts(TENON_GRAMMAR_JSON_SCHEMA, "{}", "[" + repeated("1,", n) + "1]"); }},
      {"nested JSON", 20'000,
       [&](size_t n) { accepts(TENON_GRAMMAR_JSON_SCHEMA, "{}", repeated("[", n)); }},
      {"letters", 100'000,
       [&](size_t n) { accepts(TENON_GRAMMAR_REGEX, "(a|b|ab)*c", repeated("ab", n) + "c"); }},
      {"recursion", 5'000,
       [&](size_t n) {
         accepts(TENON_GRAMMAR_GBNF, "root ::= \"a\" root \"b\" | \"\"",
                 repeated("a", n) + repeated("b", n));
       }},
  });
}

}  // namespace
