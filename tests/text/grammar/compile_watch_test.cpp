// Compilations under a watch: frequency of its calls, and ending by it. Lenient compilations: the
// dropped parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <string>

#include "tests/base/processor_time.h"
#include "text/grammar/grammar.h"
#include "text/grammar/mask_cache.h"

namespace tenon {
namespace {

double watch_clock_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

/// Counts calls and the longest processor time between two; throws at call number `last`.
class CountingWatch : public WorkWatch {
 public:
  explicit CountingWatch(size_t last = SIZE_MAX) : last_(last), before_(watch_clock_ms()) {}

  void look() override {
    longest_ms = std::max(longest_ms, watch_clock_ms() - before_);
    before_ = watch_clock_ms();
    if (++num_looks == last_) fail(Code::Cancelled, "enough");
  }

  size_t num_looks = 0;
  double longest_ms = 0;

 private:
  size_t last_;
  double before_;
};

/// Pattern that compiles slowly, different for each n.
std::string heavy_pattern(int n) {
  return "^(a|b" + std::to_string(n) + ")*(c|d).{0,14}x[^y]{3,8}$";
}

/// A long document whose properties are refused.
std::string refused_properties(int count) {
  std::string zeros = "0", properties;
  for (int i = 1; i < 190'000; ++i) zeros += ",0";
  for (int i = 0; i < count; ++i) {
    properties += (i > 0 ? ",\"" : "\"") + std::to_string(i) + R"(": {"$ref": "x:y"})";
  }
  return R"({"examples": [)" + zeros + R"(], "properties": {)" + properties + "}}";
}

struct Compiled {
  GrammarKind kind;
  std::string text;
  bool lenient = false;

  void compile(WorkWatch& watch) const {
    (void)Grammar::compile(kind, text, {.watch = &watch, .lenient = lenient});
  }
};

std::vector<Compiled> slow_ones() {
  std::string choices, rules = "root ::= r0\n", properties;
  for (int i = 0; i < 20'000; ++i)
    choices += (i > 0 ? ",\"" : "\"") + std::to_string(i * 7919) + "\"";
  for (int i = 0; i < 400; ++i) {
    rules += "r" + std::to_string(i) + " ::= \"a" + std::to_string(i) + "\" [a-z0-9]{0,9}";
    rules += i < 399 ? " | r" + std::to_string(i + 1) + " \"x\"\n" : "\n";
  }
  for (int i = 0; i < 150; ++i) {
    properties += (i > 0 ? ",\"" : "\"") + std::to_string(i) + R"(": {"pattern": "^x)" +
                  std::to_string(i) + "[0-9]{2}\"}";
  }
  return {{GrammarKind::Regex, heavy_pattern(1)},
          {GrammarKind::Choices, "[" + choices + "]"},
          {GrammarKind::Gbnf, rules},
          {GrammarKind::JsonSchema, R"({"properties": {)" + properties + "}}"},
          {GrammarKind::JsonSchema, R"({"properties": {)" + properties + "}}", true},
          {GrammarKind::JsonSchema, refused_properties(256), true}};
}

TEST(CompileWatch, LooksEveryFewMilliseconds) {
  for (const Compiled& each : slow_ones()) {
    double longest = 1e9;
    // Take the least of three, to exclude the work of other processes.
    for (int i = 0; i < 3; ++i) {
      CountingWatch watch;
      each.compile(watch);
      EXPECT_GT(watch.num_looks, 4u) << each.text.substr(0, 40);
      longest = std::min(longest, watch.longest_ms);
    }
    EXPECT_LT(kSanitized ? 0 : longest, 10) << each.text.substr(0, 40);
  }
}

TEST(CompileWatch, EndsACompilationWithWhatItThrows) {
  for (const Compiled& each : slow_ones()) {
    CountingWatch whole;
    each.compile(whole);
    for (const size_t last : {size_t{2}, whole.num_looks / 2, whole.num_looks}) {
      CountingWatch watch(last);
      try {
        each.compile(watch);
        ADD_FAILURE() << each.text.substr(0, 40);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::Cancelled) << error.what();
      }
      EXPECT_EQ(watch.num_looks, last) << "nothing goes on after the end";
    }
  }
}

TEST(CompileWatch, LooksAtThePreparationOfMasks) {
  // No token spells 'z': the automaton is built again without it.
  std::vector<std::string> texts{""};
  for (int b = 1; b < 256; ++b) {
    if (b != 'z') texts.push_back(std::string(1, static_cast<char>(b)));
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const auto tokens = std::make_shared<const grammar::TokenSet>(views, std::vector<Token>{0});
  const Compiled large = slow_ones()[3];
  const auto compiled = Grammar::compile(large.kind, large.text);
  CountingWatch watch(3);
  try {
    (void)grammar::TokenMasks(compiled, tokens, &watch);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::Cancelled) << error.what();
  }
}

std::vector<grammar::SchemaNote> notes_of(const std::string& schema) {
  return Grammar::compile(GrammarKind::JsonSchema, schema, {.lenient = true})->notes();
}

TEST(LenientReader, LeavesOutTheRefusedMemberAlone) {
  struct Lenient {
    // `like`: equivalent schema without the dropped part
    const char *schema, *pointer, *keyword, *like;
  };
  constexpr Lenient kCases[] = {
      {R"({"type": "string", "pattern": "(?<=x)y"})", "", "pattern", R"({"type": "string"})"},
      {R"({"properties": {"a~/b": {"type": "integer", "multipleOf": 0}}})", "/properties/a~0~1b",
       "multipleOf", R"({"properties": {"a~/b": {"type": "integer"}}})"},
      {R"({"items": {"format": "idn-email", "minLength": 2}})", "/items", "format",
       R"({"items": {"minLength": 2}})"},
      {R"({"allOf": [{"minLength": 1}, {"$ref": "http://x/y"}]})", "/allOf/1", "$ref",
       R"({"allOf": [{"minLength": 1}, {}]})"},
      {R"({"patternProperties": {"(?<=a)b": {"type": "null"}, "b": {"type": "null"}}})",
       "/patternProperties", "(?<=a)b", R"({"patternProperties": {"b": {"type": "null"}}})"},
      {R"({"properties": {"a": 5, "b": {"type": "null"}}})", "/properties", "a",
       R"({"properties": {"b": {"type": "null"}}})"},
      {R"({"type": ["string", "strnig"], "minLength": 2})", "", "type", R"({"minLength": 2})"},
      {R"({"type": "array", "uniqueItems": true, "items": {"type": "string"}})", "", "uniqueItems",
       R"({"type": "array", "items": {"type": "string"}})"}};
  for (const Lenient& each : kCases) {
    const auto notes = notes_of(each.schema);
    ASSERT_EQ(notes.size(), 1u) << each.schema;
    EXPECT_EQ(notes[0].pointer, each.pointer) << each.schema;
    EXPECT_EQ(notes[0].keyword.value_or("none"), each.keyword) << each.schema;
    EXPECT_FALSE(notes[0].reason.empty());
    const auto lenient = Grammar::compile(GrammarKind::JsonSchema, each.schema, {.lenient = true});
    const auto like = Grammar::compile(GrammarKind::JsonSchema, each.like);
    for (const char* value :
         {"null", "1", "\"\"", "\"a\"", "\"ab\"", "[]", "[\"\"]", "[\"a\",\"a\"]", "[\"ab\"]", "{}",
          "{\"a\":1}", "{\"b\":null}", "{\"b\":1}", "{\"a~/b\":7}", "{\"a~/b\":\"x\"}"}) {
      EXPECT_EQ(lenient->accepts(value), like->accepts(value)) << each.schema << " " << value;
    }
  }
}

// Nothing valid is excluded: a part that stands where it widens takes what is around it along.
TEST(LenientReader, OnlyWidens) {
  struct Wider {
    const char *schema, *notes, *like;
  };
  constexpr Wider kCases[] = {
      {R"({"patternProperties": {"(?<=a)b": {}}, "additionalProperties": false})",
       "/additionalProperties;/patternProperties/(?<=a)b;",
       R"({"type": ["object", "array", "string",
        "number", "boolean", "null"]})"},
      {R"({"properties": {"a": 5}, "additionalProperties": {"type": "null"}})",
       "/additionalProperties;/properties/a;", "true"},
      {R"({"not": {"type": "string", "pattern": "(?<=x)y"}})", "/not;", "true"},
      {R"({"items": {"not": {"allOf": [{"not": {"pattern": "(?<=x)y"}}]}}})",
       "/items/not/allOf/0/not;/items/not;", "true"},
      {R"({"if": {"pattern": "(?<=x)y"}, "then": {"minLength": 2}, "else": {"type": "null"}})",
       "/if;", "true"},
      {R"({"oneOf": [{"type": "string", "format": "idn-email"}, {"type": "string", "maxLength": 1},
                     {"type": "null"}]})",
       "/oneOf;/oneOf/0/format;", R"({"type": ["string", "null"]})"},
      {R"({"oneOf": [{"properties": {"a": {"type": "null"}}, "additionalProperties": false},
                     {"properties": {"b": {"type": "null"}}, "additionalProperties": false}]})",
       "/oneOf;",
       R"({"anyOf": [{"properties": {"a": {"type": "null"}}, "additionalProperties": false},
                     {"properties": {"b": {"type": "null"}}, "additionalProperties": false}]})"},
      {R"({"not": {"additionalProperties": false}})", "/not;", "true"},
      {R"({"not": {"$ref": "#/$defs/a"}, "$defs": {"a": {"minLength": 1, "pattern": "(?<=x)y"}}})",
       "/not;", "true"},
      {R"({"contains": {"pattern": "(?<=x)y"}, "maxContains": 1, "type": "array"})",
       "/maxContains;/contains/pattern;", R"({"type": "array", "contains": {}})"},
      {R"({"allOf": [{"patternProperties": {"(?<=a)b": {}}}], "unevaluatedProperties": false})",
       "/unevaluatedProperties;/allOf/0/patternProperties/(?<=a)b;", "true"},
      {R"({"prefixItems": 5, "items": {"type": "null"}})", "/items;/prefixItems;", "true"},
      {R"({"properties": {"a": {"pattern": "(?<=x)y"}}, "additionalProperties": false})",
       "/properties/a/pattern;", R"({"properties": {"a": {}}, "additionalProperties": false})"}};
  for (const Wider& each : kCases) {
    const auto lenient = Grammar::compile(GrammarKind::JsonSchema, each.schema, {.lenient = true});
    std::string told;
    for (const grammar::SchemaNote& note : lenient->notes()) {
      told += note.pointer + "/" + note.keyword.value_or("none") + ";";
      EXPECT_EQ(note.as_any_of, note.keyword == "oneOf") << each.schema;
    }
    EXPECT_EQ(told, each.notes) << each.schema;
    const auto like = Grammar::compile(GrammarKind::JsonSchema, each.like);
    for (const char* value :
         {"null", "1", "\"\"", "\"a\"", "\"ab\"", "\"xy\"", "[]", "[\"\"]", "[null]", "[1,1]",
          "[\"xy\",\"xy\"]", "{}", "{\"a\":1}", "{\"a\":null}", "{\"b\":null}", "{\"ab\":1}",
          "{\"a\":null,\"b\":null}"}) {
      EXPECT_EQ(lenient->accepts(value), like->accepts(value)) << each.schema << " " << value;
    }
  }
}

TEST(LenientReader, LeavesOutSeveralPartsAndWholeSchemas) {
  const auto notes = notes_of(
      R"({"type": "object", "properties": {"a": {"pattern": "(?<=x)y"}, "b": {"pattern": "(a)\\1"},
          "c": {"type": "string", "const": 7, "minLength": 3}}, "required": ["c"]})");
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_EQ(notes[0].pointer, "/properties/a");
  EXPECT_EQ(notes[1].pointer, "/properties/b");
  EXPECT_EQ(notes[2].pointer, "") << "no value is valid: all of it goes";
  EXPECT_FALSE(notes[2].keyword.has_value());
  EXPECT_TRUE(notes_of(R"({"type": "string"})").empty());
}

// A part that is too much work is dropped, and the rest is compiled.
TEST(LenientReader, LeavesOutWhatIsTooLarge) {
  const auto notes = notes_of(
      R"({"properties": {"a": {"pattern": "^(a|b)*a(a|b){30}$"}, "b": {"type": "integer"}}})");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].pointer, "/properties/a");
  EXPECT_EQ(notes[0].keyword.value_or("none"), "pattern");
}

std::string too_large_patterns(int count) {
  std::string properties;
  for (int i = 0; i < count; ++i) {
    const std::string name = std::to_string(i);
    properties += "\"" + name + R"(": {"pattern": "^(a?b?c?)" + name + R"(?){400}$"}, )";
  }
  return "{\"properties\": {" + properties + R"("last": {"type": "integer"}}})";
}

// The work of all passes is limited, not that of each alone.
TEST(LenientReader, EndsWithItsWork) {
  for (const int count : {1, 3}) {
    const auto notes = notes_of(too_large_patterns(count));
    ASSERT_EQ(notes.size(), static_cast<size_t>(count));
    EXPECT_EQ(notes[0].pointer, "/properties/0");
    EXPECT_NE(notes[0].reason.find("too much work"), std::string::npos) << notes[0].reason;
  }
  const auto notes = notes_of(too_large_patterns(10));
  ASSERT_GT(notes.size(), 0u);
  EXPECT_LT(notes.size(), 7u);
  EXPECT_EQ(notes.back().pointer, "");
  EXPECT_FALSE(notes.back().keyword.has_value());
  EXPECT_EQ(notes.back().reason, "too many parts are not kept");
}

TEST(LenientReader, LeavesOutAsManyPartsAsThereAreNotes) {
  const auto notes = notes_of(refused_properties(256));
  ASSERT_EQ(notes.size(), 256u);
  EXPECT_EQ(notes[0].pointer, "/properties/0");
  EXPECT_EQ(notes[255].pointer, "/properties/255");
  EXPECT_EQ(notes[255].keyword.value_or("none"), "$ref");
  EXPECT_EQ(notes_of(refused_properties(257)).size(), 1u);
}

// Contents of a part that is left out have no note.
TEST(LenientReader, LeavesOutPartsOfParts) {
  const auto notes = notes_of(
      R"({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"pattern": "(?<=x)y"}, 7],
          "not": {"$ref": "x:y"}}}, "patternProperties": {"(?<=a)b": {"format": "idn-email"}}})");
  std::string told;
  for (const grammar::SchemaNote& note : notes) {
    told += note.pointer + " " + note.keyword.value_or("none") + "\n";
  }
  EXPECT_EQ(told, "/$defs/a not\n/$defs/a anyOf\n/patternProperties (?<=a)b\n");
}

TEST(LenientReader, EndsWithManyPartsAndKeepsTheWatch) {
  std::string properties;
  for (int i = 0; i < 600; ++i) {
    properties += (i > 0 ? ",\"" : "\"") + std::to_string(i) + R"(": {"pattern": "(?<=x)y"})";
  }
  const auto notes = notes_of("{\"properties\": {" + properties + "}}");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].pointer, "");
  CountingWatch reading;
  EXPECT_THROW(
      (void)Grammar::compile(GrammarKind::JsonSchema, refused_properties(1), {.watch = &reading}),
      Error);
  CountingWatch watch(reading.num_looks + 10);
  EXPECT_THROW((void)Grammar::compile(GrammarKind::JsonSchema, refused_properties(256),
                                      {.watch = &watch, .lenient = true}),
               Error);
  EXPECT_THROW((void)notes_of("{"), Error) << "no JSON";
  EXPECT_THROW((void)Grammar::compile(GrammarKind::Regex, "a", {.lenient = true}), Error);
}

}  // namespace
}  // namespace tenon
