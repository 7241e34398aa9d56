// Grammars and templates as deep as their limits allow, on a thread with a stack of 128 KB.
#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>
#include <string>

#include "base/error.h"
#include "base/sanitized.h"
#include "text/chat/chat.h"
#include "text/grammar/grammar.h"

namespace tenon {
namespace {

#if TENON_ADDRESS_SANITIZED
constexpr size_t kStackBytes = size_t{1} << 20;  // its frames are several times as large
#else
constexpr size_t kStackBytes = size_t{128} << 10;
#endif

/// Result, or error, of `action` on a thread with that stack.
std::string on_small_stack(const std::function<std::string()>& action) {
  struct Call {
    const std::function<std::string()>& action;
    std::string said;
  } call{action, {}};
  pthread_attr_t attributes;
  EXPECT_EQ(pthread_attr_init(&attributes), 0);
  EXPECT_EQ(pthread_attr_setstacksize(&attributes, kStackBytes), 0);
  pthread_t thread{};
  const int made = pthread_create(
      &thread, &attributes,
      [](void* arg) -> void* {
        auto& todo = *static_cast<Call*>(arg);
        try {
          todo.said = todo.action();
        } catch (const Error& error) {
          todo.said = error.what();
        }
        return nullptr;
      },
      &call);
  EXPECT_EQ(made, 0);
  if (made == 0) pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  return call.said;
}

std::string repeated(const std::string& text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

std::string compiled(GrammarKind kind, const std::string& text) {
  return on_small_stack([&] {
    (void)Grammar::compile(kind, text);
    return std::string("compiled");
  });
}

/// Runs at growing depths until the limit is reported.
void expect_limit(const std::function<std::string(size_t depth)>& run, const char* limit) {
  std::string last = "compiled";
  for (const size_t depth : {10u, 60u, 90u, 99u, 120u, 127u, 199u, 300u, 1000u, 4000u}) {
    last = run(depth);
    ASSERT_FALSE(last.empty()) << depth;
  }
  EXPECT_NE(last.find(limit), std::string::npos) << last;
}

TEST(SmallStack, Grammars) {
  expect_limit(
      [](size_t depth) {
        return compiled(GrammarKind::Gbnf, "root ::= " + repeated("(\"a\" | ", depth) + "\"b\"" +
                                               repeated(")?", depth));
      },
      "nested deeper");
  expect_limit(
      [](size_t depth) {
        return compiled(GrammarKind::Regex, repeated("(a|b", depth) + repeated(")?", depth));
      },
      "nested deeper");
  for (const auto& [open, close] : {std::pair{"{\"items\":", "}"},
                                    {"{\"not\":", "}"},
                                    {"{\"anyOf\":[{\"type\":\"null\"},", "]}"},
                                    {"{\"properties\":{\"a\":", "}}"},
                                    {"{\"const\":[", "]}"},
                                    {"{\"if\":{},\"then\":", "}"}}) {
    expect_limit(
        [begin = open, end = close](size_t depth) {
          return compiled(GrammarKind::JsonSchema,
                          repeated(begin, depth) + "{}" + repeated(end, depth));
        },
        "nested deeper");
  }
  // A chain of references as deep as the document is long.
  std::string chain = "{\"$defs\":{";
  for (int i = 0; i < 3000; ++i) {
    chain +=
        "\"d" + std::to_string(i) + "\":{\"$ref\":\"#/$defs/d" + std::to_string(i + 1) + "\"},";
  }
  EXPECT_FALSE(
      compiled(GrammarKind::JsonSchema, chain + "\"d3000\":{}},\"$ref\":\"#/$defs/d0\"}").empty());
  EXPECT_FALSE(
      compiled(GrammarKind::JsonSchema, chain + "\"d3000\":{}},\"not\":{\"$ref\":\"#/$defs/d0\"}}")
          .empty());
  std::string rules = "root ::= r0\n";
  for (int i = 0; i < 15000; ++i) {
    rules += "r" + std::to_string(i) + " ::= \"a\" r" + std::to_string(i + 1) + " | \"b\"\n";
  }
  EXPECT_FALSE(compiled(GrammarKind::Gbnf, rules + "r15000 ::= \"c\"\n").empty());
}

std::string rendered(const std::string& source, const std::string& conversation = "") {
  return on_small_stack([&] {
    const Chat chat({.source = source, .source_name = "t"}, nullptr);
    const std::string given = conversation.empty() ? "{\"messages\": []}" : conversation;
    const ChatPrompt prompt = chat.render(given);
    (void)chat.answer_grammar(prompt);
    return "compiled" + prompt.text.bytes();
  });
}

TEST(SmallStack, Templates) {
  expect_limit(
      [](size_t depth) {
        return rendered(repeated("{% if 1 %}", depth) + "x" + repeated("{% endif %}", depth));
      },
      "nested deeper");
  expect_limit(
      [](size_t depth) {
        return rendered("{{ " + repeated("(", depth) + "1" + repeated(")", depth) + " }}");
      },
      "nested deeper");
  expect_limit(
      [](size_t depth) {
        return rendered("{{ " + repeated("[", depth) + "1" + repeated("]", depth) + " | tojson }}");
      },
      "nested deeper");
  expect_limit([](size_t depth) { return rendered("{{ " + repeated("not ", depth) + "1 }}"); }, "");
  expect_limit([](size_t depth) { return rendered("{{ 1" + repeated(" + 1", depth) + " }}"); }, "");
  expect_limit([](size_t depth) { return rendered("{{ x" + repeated(".a", depth) + " }}"); }, "");
  expect_limit([](size_t depth) { return rendered("{{ 1" + repeated("|string", depth) + " }}"); },
               "");
  EXPECT_NE(
      rendered("{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}").find("nested deeper"),
      std::string::npos)
      << rendered("{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}");
  expect_limit(
      [](size_t depth) {
        return rendered(
            "{{ messages }}{{ x | tojson }}{{ x | string }}{{ x == x }}",
            "{\"messages\": [], \"x\": " + repeated("[", depth) + repeated("]", depth) + "}");
      },
      "nests deeper");
  // Values nested step by step.
  EXPECT_FALSE(rendered("{% set ns = namespace(v=[]) %}{% for i in range(5000) %}"
                        "{% set ns.v = [ns.v] %}{% endfor %}{{ ns.v | tojson }}{{ ns.v == [1] }}")
                   .empty());
}

}  // namespace
}  // namespace tenon
